import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { countLiving, uniqueSleep, until } from "../../../../test/support/shell-scene.ts"
import type { ProgramSpec } from "../../../contract/backend-env.ts"
import { Programs } from "./programs.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-programs-")))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const programs = new Programs({
  spillFolder: join(folder, "spill"),
  outside: [join(folder, "workspace")],
  stopMs: 500,
  variables: () => ({ ...process.env, PASSED: "yes", KEPT_BACK: "secret" }),
})

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
