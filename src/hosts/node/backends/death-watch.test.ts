import { spawn } from "node:child_process"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, expect, test } from "vitest"
import { countLiving, uniqueSleep } from "../../../../test/support/shell-scene.ts"
import { until } from "../../../../test/support/watchdog.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-death-")))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let hosts = 0

/** A process that starts two programs under a death watch, one of which leaves its group, and prints a line. */
async function host(inGroup: string, apart: string, then: string) {
  // Its own marker: the watch of an earlier process may still be looking for its programs.
  hosts++
  const watch = join(folder, "death-watch.mjs")
  const entry = fileURLToPath(new URL("death-watch.ts", import.meta.url))
  await build({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile: watch })
  const source = `
    import { spawn } from "node:child_process"
    import { watchDeath } from ${JSON.stringify(watch)}
    const watch = watchDeath("nonce${process.pid}-${hosts}.")
    const start = (line, env) => spawn("/bin/sh", ["-c", line], { detached: true, stdio: "ignore", env: { ...process.env, ...env } })
    const child = start(${JSON.stringify(`${inGroup}; true`)}, {})
    watch.add(child.pid)
    const other = start(${JSON.stringify(`${apart}; true`)}, { LONGHAUL_SHELL: "other.1.:nonce${process.pid}-${hosts}.2." })
    console.log(JSON.stringify([child.pid, other.pid]))
    ${then}`
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], { stdio: ["ignore", "pipe", "inherit"] })
  const groups = await new Promise<readonly number[]>((resolve) => {
    child.stdout.once("data", (text) => resolve(JSON.parse(String(text))))
  })
  return { child, groups }
}

test.each(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "programs end with the process that started them when it dies by %s, also those that have left their group",
  async (signal) => {
    const [inGroup, apart] = [uniqueSleep(), uniqueSleep()]
    const { child } = await host(inGroup, apart, "setInterval(() => {}, 1000)")
    await until(() => countLiving(inGroup) > 0 && countLiving(apart) > 0)
    child.kill(signal)
    await until(() => countLiving(inGroup) === 0 && countLiving(apart) === 0)
  },
)

test("a process that closes its watch leaves alone what still runs, and is not kept alive by it", async () => {
  const [inGroup, apart] = [uniqueSleep(), uniqueSleep()]
  const then = "watch.close(); child.unref(); other.unref()"
  const { child, groups } = await host(inGroup, apart, then)
  await until(() => child.exitCode !== null)
  expect(child.exitCode).toBe(0)
  await until(() => countLiving(inGroup) > 0 && countLiving(apart) > 0)
  for (const group of groups) process.kill(-group, "SIGKILL")
  await until(() => countLiving(inGroup) === 0 && countLiving(apart) === 0)
})
