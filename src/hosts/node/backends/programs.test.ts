import { spawn } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, expect, test } from "vitest"
import { countLiving, isRunning, uniqueSleep } from "../../../../test/support/shell-scene.ts"
import { until } from "../../../../test/support/watchdog.ts"
import type { ProgramSpec } from "../../../contract/backend-env.ts"
import { type ProgramSettings, Programs } from "./programs.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-programs-")))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const settings: ProgramSettings = {
  spillFolder: join(folder, "spill"),
  outside: [join(folder, "workspace")],
  stopMs: 500,
  variables: () => ({ ...process.env, PASSED: "yes", KEPT_BACK: "secret" }),
}
const programs = new Programs(settings)

function script(source: string, more: Partial<ProgramSpec> = {}): ProgramSpec {
  const base = { cwd: folder, runId: "r", passEnv: ["PASSED"], env: { OWN: "1" }, install: "npm i program" }
  return { command: process.execPath, args: ["-e", source], ...base, ...more }
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const read: string[] = []
  for await (const line of lines) read.push(line)
  return read
}

test("lines go both ways, and only named variables reach a program", async () => {
  const source = `process.stdin.on("data", (d) => console.log("got " + d.toString().trim()))
    console.log(["PASSED", "KEPT_BACK", "OWN"].map((name) => process.env[name] ?? "-").join(" "))`
  const channel = await programs.spawn(script(source))
  await channel.send("héllo")
  const lines = channel.lines[Symbol.asyncIterator]()
  expect([(await lines.next()).value, (await lines.next()).value].sort()).toEqual(["got héllo", "yes - 1"])
  channel.endInput()
  expect(await lines.next()).toMatchObject({ done: true })
  expect(await channel.exit).toEqual({ code: 0, signal: null, stderr: "" })
  await expect(channel.send("late")).rejects.toMatchObject({ code: "backend_crashed" })
})

test("the end of its standard error is kept, and a last line without a line end is read", async () => {
  const channel = await programs.spawn(
    script(`console.error("x".repeat(20000) + " the cause"); process.stdout.write("a\\nb"); process.exitCode = 3`),
  )
  expect(await all(channel.lines)).toEqual(["a", "b"])
  const { code, stderr } = await channel.exit
  expect(code).toBe(3)
  expect(stderr).toBe("the cause\n")
  expect(stderr.length).toBeLessThanOrEqual(8000)
})

test("a line without an end fails with backend_protocol instead of filling the memory", async () => {
  const channel = await programs.spawn(
    script(
      `const part = "x".repeat(1 << 20); const write = () => { while (process.stdout.write(part)); }; process.stdout.on("drain", write); write()`,
    ),
  )
  await expect(all(channel.lines)).rejects.toMatchObject({ code: "backend_protocol" })
  await channel.end("kill")
})

test.each([
  ["a program that is not there", "longhaul-no-such-program"],
  ["a path that is not there", join("/", "longhaul-no-such-program")],
])("%s is backend_missing with the command that installs it", async (_, command) => {
  await expect(programs.spawn(script("", { command }))).rejects.toMatchObject({
    code: "backend_missing",
    fix: "Install it: npm i program",
  })
})

test("ending a program ends what it started, although both ignore the request", async () => {
  const sleep = uniqueSleep()
  const source = `process.on("SIGTERM", () => {}); require("node:child_process").spawn("sh", ["-c", "trap '' TERM; ${sleep}; true"], { stdio: "inherit" }); console.log("up"); setInterval(() => {}, 1000)`
  const channel = await programs.spawn(script(source))
  const lines = channel.lines[Symbol.asyncIterator]()
  await lines.next()
  await until(() => countLiving(sleep) > 0)
  await channel.end("ask")
  expect(countLiving(sleep)).toBe(0)
  expect(await channel.exit).toMatchObject({ signal: "SIGKILL" })
})

test("a process that a program leaves behind does not keep its output open", async () => {
  const sleep = uniqueSleep()
  const source = `require("node:child_process").spawn("sh", ["-c", "${sleep}"], { stdio: "inherit", detached: true }).unref(); console.log("up")`
  const channel = await programs.spawn(script(source))
  expect(await all(channel.lines)).toEqual(["up"])
  await channel.end("kill")
  expect(countLiving(sleep)).toBe(0)
})

test("a program ends with the process that started it, also if it clears its environment", async () => {
  const sleep = uniqueSleep()
  const entry = fileURLToPath(new URL("programs.ts", import.meta.url))
  const outfile = join(folder, "programs.mjs")
  await build({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile })
  const spec = { command: "/bin/sh", args: ["-c", `exec env -i /bin/sh -c '${sleep}; true'`], cwd: folder, runId: "r" }
  const source = `import { Programs } from ${JSON.stringify(outfile)}
    const settings = { spillFolder: ${JSON.stringify(join(folder, "host"))}, outside: [], stopMs: 500, variables: () => process.env }
    await new Programs(settings).spawn({ ...${JSON.stringify(spec)}, passEnv: [], env: {}, install: "" })
    console.log("started")`
  const host = spawn(process.execPath, ["--input-type=module", "-e", source], { stdio: ["ignore", "pipe", "inherit"] })
  await new Promise((resolve) => host.stdout.once("data", resolve))
  await until(() => isRunning(sleep))
  host.kill("SIGKILL")
  await until(() => countLiving(sleep) === 0)
})

test("what a killed process leaves running is ended when the next one starts a program", async () => {
  const spillFolder = join(folder, "killed")
  const settings = { spillFolder, outside: [], stopMs: 500, variables: () => process.env }
  const sleep = uniqueSleep()
  const left = await new Programs(settings).spawn(script(`require("node:child_process").execSync("${sleep}")`))
  await until(() => countLiving(sleep) > 0)
  const [nonce = ""] = readdirSync(spillFolder)
  const owner = join(spillFolder, nonce, "owner.json")
  // A process with this pid exists, but it started at another time: the owner is dead.
  writeFileSync(owner, JSON.stringify({ ...JSON.parse(readFileSync(owner, "utf8")), started: 1 }))
  const next = await new Programs(settings).spawn(script(`console.log("next")`))
  expect(await all(next.lines)).toEqual(["next"])
  expect(countLiving(sleep)).toBe(0)
  expect(await left.exit).toMatchObject({ signal: "SIGKILL" })
})

test("a program that starts as the last one ends is registered on disk, too", async () => {
  const inTurn = async (name: string) => {
    const spill = join(folder, name)
    const alone = new Programs({ ...settings, spillFolder: spill })
    for (let round = 0; round < 8; round++) {
      const first = await alone.spawn(script("", { args: ["--version"] }))
      await first.exit
      const second = await alone.spawn(script("process.stdin.resume()"))
      const registered = readdirSync(spill).filter((nonce) => existsSync(join(spill, nonce, "owner.json")))
      expect(registered).toHaveLength(1)
      await second.end("kill")
    }
  }
  // Beside each other, so that the steps of each take long.
  await Promise.all(Array.from({ length: 8 }, (_, index) => inTurn(`spill-${index}`)))
})

test("a program is not looked up in a folder that tools may write", async () => {
  const bin = join(folder, "workspace", "bin")
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, "planted-agent"), "#!/bin/sh\necho planted\n", { mode: 0o755 })
  const settings = { spillFolder: join(folder, "spill"), stopMs: 500, variables: () => ({ PATH: bin }) }
  const spec = script("", { command: "planted-agent", args: [] })
  const confined = new Programs({ ...settings, outside: [join(folder, "workspace")] })
  await expect(confined.spawn(spec)).rejects.toMatchObject({ code: "backend_missing" })
  const channel = await new Programs({ ...settings, outside: [] }).spawn(spec)
  expect(await all(channel.lines)).toEqual(["planted"])
})

test("the programs that a program starts are not looked up in a folder that tools may write either", async () => {
  const workspace = join(folder, "workspace")
  const bin = join(workspace, "node_modules", ".bin")
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, "git"), "#!/bin/sh\necho planted\n", { mode: 0o755 })
  writeFileSync(join(workspace, "git"), "#!/bin/sh\necho planted\n", { mode: 0o755 })
  const starting = (PATH: string) => new Programs({ ...settings, variables: () => ({ PATH }) })
  const asks = script("", { command: "/bin/sh", args: ["-c", "git --version || echo none"], cwd: workspace })
  for (const path of [`${bin}:/nowhere`, ".:/nowhere", `:${bin}`, bin]) {
    const channel = await starting(path).spawn(asks)
    expect(await all(channel.lines)).not.toContain("planted")
  }
  const named = await starting("/nowhere").spawn({ ...asks, env: { PATH: bin } })
  expect(await all(named.lines)).toEqual(["planted"])
})
