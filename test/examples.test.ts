import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

test("the support desk refunds once, through a refused call and a stream that breaks off, within its budget", () => {
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

test("many models give one answer to one task, each with its tokens, and its cost where that is known", () => {
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

test("TOOL-37 the tools alone, in fifteen lines", () => {
  const program = readFileSync(new URL("../examples/tools-alone/main.mjs", import.meta.url), "utf8")
  expect(program.split("\n").filter((line) => line !== "" && !line.startsWith("//")).length).toBeLessThanOrEqual(15)
  const lines = runExample("tools-alone")
  expect(lines.slice(0, 9).join(" ")).toBe("Read List Glob Grep Write Edit MultiEdit ApplyPatch Bash")
  expect(lines[9]).toBe("tide.txt:2:low 10:40")
  expect(lines[10]).toBe("2")
  expect(lines.at(-1)).toContain('"code":"denied"')
})

test("HOST-15 one turn with Bash, and its result", () => {
  expect(runExample("one-turn")).toEqual(["done Bash There are 3 tides."])
})

/** The lines it prints. It must succeed by itself, on a machine of which it knows nothing. */
function runExample(name: string): string[] {
  const program = fileURLToPath(new URL(`../examples/${name}/main.mjs`, import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], {
    env: { PATH: process.env.PATH },
    encoding: "utf8",
    timeout: 25_000,
  })
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" })
  return stdout.trimEnd().split("\n")
}
