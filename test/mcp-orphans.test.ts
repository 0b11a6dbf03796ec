import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"
import { random } from "./support/scene.ts"
import { countLiving } from "./support/shell-scene.ts"
import { WATCHDOG_MS } from "./support/watchdog.ts"

const KILLS = Number(process.env.LONGHAUL_MCP_KILLS ?? 6)
const base = mkdtempSync(join(tmpdir(), "longhaul-mcp-orphans-"))
const worker = join(base, "worker.mjs")
const server = fileURLToPath(new URL("mcp-client/stdio-server.mjs", import.meta.url))
const settings = join(base, "settings.json")
const workspace = join(base, "workspace")

beforeAll(async () => {
  mkdirSync(workspace)
  writeFileSync(settings, JSON.stringify({ stubborn: true }))
  const entryPoints = [fileURLToPath(new URL("mcp-client/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: worker })
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

function start(calls: number) {
  const env = { ...process.env, XDG_STATE_HOME: join(base, "state"), HOME: base }
  const child = spawn(process.execPath, [worker, server, settings, workspace, String(calls)], { env, stdio: "ignore" })
  return { child, exited: once(child, "exit") }
}

test(
  `of ${KILLS} processes killed at random moments no MCP server is left after the next start`,
  async () => {
    const pick = random(Number(process.env.LONGHAUL_SEED ?? 1))
    let left = 0
    for (let index = 0; index < KILLS; index++) {
      const { child, exited } = start(100_000)
      await new Promise((resolve) => setTimeout(resolve, 300 + pick(900)))
      child.kill("SIGKILL")
      expect(await exited).toEqual([null, "SIGKILL"])
      left = Math.max(left, countLiving(settings))
    }
    const [code] = await start(1).exited
    expect(code).toBe(0)
    console.log(
      `${KILLS} kills: at most ${left} servers left before a start, ${countLiving(settings)} after the last one`,
    )
    expect(countLiving(settings)).toBe(0)
  },
  WATCHDOG_MS + KILLS * 5_000,
)
