import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { WATCHDOG_MS } from "./support/watchdog.ts"

const repository = fileURLToPath(new URL("..", import.meta.url))

test("the support desk example refunds once despite a rejected call and a cut stream, within its budget", () => {
  const lines = runExample("support-desk")
  expect(lines).toContain("audit: call 2.0 to pay back 50: error")
  expect(lines).toContain("audit: call 3.0 to pay back 48: ok")
  expect(lines).toContain('refunds made: [{"number":"A-17","amount":48}]')
  expect(lines).toContain('retried: {"stream_incomplete":1} failed calls: {"refund":1}')
  expect(lines.find((line) => line.startsWith("data:"))).toContain('"refunded":48')
  const [, spent] = /^used: \d+ tokens, \$(0\.\d+) of \$0\.1$/.exec(lines.at(-1) ?? "") ?? []
  expect(Number(spent)).toBeGreaterThan(0)
  expect(Number(spent)).toBeLessThan(0.1)
})

test("the many-models example gives the same answer on each model, with tokens and any known cost", () => {
  const [head = "", ...rows] = runExample("many-models")
  expect(head.split(/ {2,}/)).toEqual(["name", "status", "turns", "input", "output", "cost", "text"])
  const cells = rows.map((row) => row.split(/ {2,}/))
  expect(cells.map(([name]) => name)).toEqual([
    "anthropic messages",
    "openai responses",
    "openai chat",
    "google",
    "a server of my own",
  ])
  for (const [name, status, turns, input, output, cost, text] of cells) {
    expect([status, turns, text], name).toEqual(["done", "2", "High water is at 04:17 and 05:02."])
    expect(Number(input), name).toBeGreaterThan(0)
    expect(Number(output), name).toBeGreaterThan(0)
    expect(cost, name).toMatch(name === "a server of my own" ? /^not known$/ : /^\$0\.0*[1-9]/)
  }
})

test("the tools-alone example works in fifteen lines", { tags: ["TOOL-37"] }, () => {
  const program = readFileSync(new URL("../examples/tools-alone/main.mjs", import.meta.url), "utf8")
  expect(program.split("\n").filter((line) => line !== "" && !line.startsWith("//")).length).toBeLessThanOrEqual(15)
  const lines = runExample("tools-alone")
  expect(lines.slice(0, 9).join(" ")).toBe("Read List Glob Grep Write Edit MultiEdit ApplyPatch Bash")
  expect(lines[9]).toBe("tide.txt:2:low 10:40")
  expect(lines[10]).toBe("2")
  expect(lines.at(-1)).toContain('"code":"denied"')
})

test("the one-turn example runs Bash and prints its result", { tags: ["HOST-15"] }, () => {
  expect(runExample("one-turn")).toEqual(["done Bash There are 3 tides."])
})

test("the invoice example, about 60 lines of strict TypeScript without a cast, pays once after approval", () => {
  const source = join(repository, "examples/invoice-approval/main.ts")
  const code = readFileSync(source, "utf8")
  expect(code.split("\n").length).toBeLessThanOrEqual(65)
  expect(code.match(/\bas\b|\bany\b|@ts-|\w!/g)).toBeNull()
  const lines = runProgram(compiled(source))
  expect(lines[0]).toMatch(/^paused: approval, .*"INV-7".* \| payments: 0$/)
  expect(lines.slice(1)).toEqual([
    "done: INV-7, $250, paid on 2026-03-02 | payments: 1",
    "failed: invalid_state, Run inv-7 is done. | payments: 1",
  ])
})

/** The program, compiled against the built package with strict settings; fails if it does not compile. */
function compiled(source: string): string {
  const project = mkdtempSync(join(tmpdir(), "longhaul-example-"))
  onTestFinished(() => rmSync(project, { recursive: true, force: true }))
  mkdirSync(join(project, "node_modules"))
  symlinkSync(repository, join(project, "node_modules/longhaul"))
  for (const name of ["@types", "zod"]) {
    symlinkSync(join(repository, "node_modules", name), join(project, "node_modules", name))
  }
  copyFileSync(source, join(project, "main.ts"))
  writeFileSync(join(project, "package.json"), '{ "type": "module" }')
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
  const compilerOptions = { ...strict, target: "ES2023", module: "NodeNext", types: ["node"] }
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }))
  const compiler = join(repository, "node_modules/typescript/bin/tsc")
  const { stdout } = spawnSync(process.execPath, [compiler, "-p", project], { encoding: "utf8" })
  expect(stdout).toBe("")
  return join(project, "main.js")
}

function runExample(name: string): string[] {
  return runProgram(join(repository, "examples", name, "main.mjs"))
}

/** The printed lines. It must succeed on its own, without knowledge of the machine. */
function runProgram(program: string): string[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], {
    env: { PATH: process.env.PATH },
    encoding: "utf8",
    timeout: WATCHDOG_MS,
  })
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" })
  return stdout.trimEnd().split("\n")
}
