import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { expect, test } from "vitest"
import { serve } from "../../src/hosts/node/http/serve.ts"
import { isMain } from "../../src/testing/backend-bench.ts"
import { createSimulator } from "../../src/testing/index.ts"
import { random } from "../support/scene.ts"
import { countIn } from "../support/shell-scene.ts"
import { placedBackends } from "./benches.ts"
import type { Order } from "./orphans/worker.ts"

const HUNTED = Number(process.env.LONGHAUL_ORPHANS ?? 12)

test(`of ${HUNTED} runs killed or ended at random moments no process is left after the next start`, async () => {
  const folder = fileURLToPath(new URL("../../.tmp/orphans", import.meta.url))
  const program = join(folder, "worker.mjs")
  const entryPoints = [fileURLToPath(new URL("orphans/worker.ts", import.meta.url))]
  await build({ entryPoints, bundle: true, packages: "external", platform: "node", format: "esm", outfile: program })
  const base = realpathSync(mkdtempSync(join(homedir(), ".longhaul-test-")))
  let answers = 0
  const simulator = createSimulator({
    async script(request) {
      if (!isMain(request)) return "A title"
      await new Promise((resolve) => setTimeout(resolve, 100))
      const name = request.tools.find((tool) => /send$/.test(tool.name))?.name
      const isLast = answers++ % 7 === 6
      return isLast || name === undefined ? "Done." : { parts: [{ toolCall: { name, args: { to: "Ada" } } }] }
    },
  })
  const served = await serve(simulator.fetch)
  const pick = random(Number(process.env.LONGHAUL_SEED ?? 1))

  async function work(backend: string, kill?: { readonly signal: "SIGKILL" | "SIGTERM"; readonly afterMs: number }) {
    const [workspace, home] = [join(base, "workspace"), join(base, "home")]
    for (const each of [workspace, home]) mkdirSync(each, { recursive: true })
    const order: Order = { base, backend, url: served.url, home, workspace, isLoggedOut: false }
    const child = spawn(process.execPath, [program, JSON.stringify(order)], { stdio: ["ignore", "pipe", "inherit"] })
    const said: string[] = []
    child.stdout.setEncoding("utf8").on("data", (text: string) => said.push(text))
    const exited = new Promise((resolve) => child.once("exit", resolve))
    const timer = kill && setTimeout(() => child.kill(kill.signal), kill.afterMs)
    await exited
    clearTimeout(timer)
    return said.join("").trim()
  }

  try {
    for (let index = 0; index < HUNTED; index++) {
      const { name } = placedBackends[pick(placedBackends.length)] ?? { name: "native" }
      await work(name, { signal: pick(3) === 0 ? "SIGTERM" : "SIGKILL", afterMs: 200 + pick(3000) })
    }
    // The next start of any program ends what is left.
    expect(await work("claude-cli")).toBe("done")
    expect(countIn(base)).toBe(0)
  } finally {
    await served.close()
    rmSync(base, { recursive: true, force: true })
  }
}, 600_000)
