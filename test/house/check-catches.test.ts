import { spawnSync } from "node:child_process"
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, expect, test } from "vitest"

const repository = fileURLToPath(new URL("../..", import.meta.url))

let copy: string
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "longhaul-house-"))
  for (const name of ["src", "tsconfig.json", ".dependency-cruiser.cjs", "package.json"]) {
    cpSync(join(repository, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"))
})
afterEach(() => rmSync(copy, { recursive: true, force: true }))

function plant(file: string, line: string): void {
  appendFileSync(join(copy, file), `\n${line}\n`)
}

function node(...command: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: copy, encoding: "utf8" })
  return { status, output: stdout + stderr }
}

const depcruise = () =>
  node("node_modules/dependency-cruiser/bin/dependency-cruise.mjs", "--config", ".dependency-cruiser.cjs", "src")
const house = () => node(join(repository, "scripts/house.mjs"), copy)

test("the current source passes the check, and its modules were really read", { timeout: 60_000 }, () => {
  const direction = depcruise()
  expect(direction.output).toContain("no dependency violations found")
  expect(direction.status).toBe(0)
  const rules = house()
  expect(rules.output).toMatch(/^modules: [1-9]\d*, import cycles: 0$/m)
  expect(rules.status).toBe(0)
})

test.each([
  ["an import cycle", "src/lib/id.ts", 'export { delay } from "./abort.ts"', "src/lib/abort.ts", "no-cycles"],
  ["an import of lib in contract", "src/contract/json.ts", 'import "../lib/id.ts"', "", "contract-imports-nothing"],
  [
    "a room that imports its sibling",
    "src/tools/find/glob.ts",
    'import "../../stores/memory.ts"',
    "",
    "never-import-siblings",
  ],
  ["Node in the portable core", "src/lib/id.ts", 'import "node:fs"', "", "node-only-in-hosts-and-cli"],
])("the check fails for %s", { timeout: 60_000 }, (_, file, line, back, rule) => {
  plant(file, line)
  if (back !== "") plant(back, 'export { newRunId } from "./id.ts"')
  const direction = depcruise()
  expect(direction.output).toContain(rule)
  expect(direction.status).not.toBe(0)
  expect(house().status).toBe(1)
})

test("the check fails for a source file of more than 400 lines", { timeout: 60_000 }, () => {
  plant("src/lib/id.ts", "//\n".repeat(400))
  const { status, output } = house()
  expect(output).toMatch(/src\/lib\/id\.ts has \d+ lines, more than 400/)
  expect(status).toBe(1)
})
