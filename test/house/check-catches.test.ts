import { spawnSync } from "node:child_process"
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"

const repository = fileURLToPath(new URL("../..", import.meta.url))

/** One copy holds every defect at once: each is its own line of the report, so the slow import graph is read once. */
let copy: string
let report: { readonly status: number | null; readonly output: string }
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "longhaul-house-"))
  for (const name of ["src", "tsconfig.json", ".dependency-cruiser.cjs", "package.json", "ARCHITECTURE.md"]) {
    cpSync(join(repository, name), join(copy, name), { recursive: true, filter: (path) => !path.endsWith(".test.ts") })
  }
  symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"))

  plant("src/lib/id.ts", 'export { delay } from "./abort.ts"')
  plant("src/lib/abort.ts", 'export { newRunId } from "./id.ts"')
  plant("src/contract/json.ts", 'import "../lib/id.ts"')
  plant("src/runs/lanes.ts", 'import "../run/state/controls.ts"')
  plant("src/run/state/controls.ts", 'import "../offload/preview.ts"')
  plant("src/run/offload/preview.ts", 'import "../state/hooks.ts"')
  plant("src/tools/find/glob.ts", 'import "../../stores/memory.ts"')
  plant("src/enforce/ai-sdk.ts", 'import "../stores/memory.ts"')
  plant("src/lib/bytes.ts", 'import "node:fs"')
  plant("src/lib/bytes.ts", "//\n".repeat(400))
  plant("src/lib/closest.ts", `export function tooLong(): void {\n${"  void 0\n".repeat(80)}}`)
  plant(
    "src/lib/content.ts",
    "export const unexplained = [\n  1 as unknown,\n".concat("  1 as unknown,\n".repeat(30), "]"),
  )
  plant("src/lib/contained.ts", "export const MOST_TURNS = 3")
  plant("src/lib/usage.ts", "// Safe: one is a number.\nexport const explained = 1 as number")
  for (let index = 0; index < 31; index++) plant(`src/crowded/file-${index}.ts`, "export {}")
  report = house(copy)
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

function plant(file: string, text: string): void {
  mkdirSync(dirname(join(copy, file)), { recursive: true })
  appendFileSync(join(copy, file), `\n${text}\n`)
}

function house(root: string) {
  const command = [join(repository, "scripts/house.mjs"), root]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" })
  return { status, output: stdout + stderr }
}

test("the current source passes the check, and its modules were really read", () => {
  const { status, output } = house(repository)
  expect(output).toMatch(/^modules: [1-9]\d*, import cycles: 0$/m)
  expect(output).toMatch(/^files: [1-9]\d* shipped, lines: median \d+, p95 \d+, largest \d+$/m)
  expect(output).toMatch(/^functions: [1-9]\d*, casts: \d+$/m)
  expect(output).toMatch(/^lines: [1-9]\d*, imports per file: \d\.\d\d$/m)
  expect(output).toMatch(/^conditional spreads: \d+, functions named …Of: \d+$/m)
  expect(output).toMatch(/^folders that import each other: \d+, of the rooms of a run: 0$/m)
  expect(output).not.toMatch(/^house: /m)
  expect(status).toBe(0)
})

test.each([
  ["an import cycle", /no-cycles: src\/lib\/(id|abort)\.ts → src\/lib\/(id|abort)\.ts/],
  ["an import of lib in contract", /contract-imports-nothing: src\/contract\/json\.ts → src\/lib\/id\.ts/],
  ["a room that imports its sibling", /never-import-siblings: src\/tools\/find\/glob\.ts → src\/stores\/memory\.ts/],
  ["an import from the reading of runs to a run", /runs-imports-nothing-above-it: src\/runs\/lanes\.ts → src\/run\//],
  ["folders of a run that import each other", /house: src\/run\/offload and src\/run\/state import each other/],
  [
    "an import of another room in enforce",
    /enforce-imports-policy-only: src\/enforce\/ai-sdk\.ts → src\/stores\/memory/,
  ],
  ["an import of Node in the portable core", /node-only-in-hosts-and-cli: src\/lib\/bytes\.ts → fs/],
  ["an import of Node, as the text says it", /src\/lib\/bytes\.ts imports node:fs: only hosts\/node and cli may/],
  ["a source file of more than 400 lines", /src\/lib\/bytes\.ts has \d+ lines, more than 400/],
  ["a function of more than 80 lines", /src\/lib\/closest\.ts:\d+ tooLong has 82 lines, more than 80/],
  ["a folder of more than 30 shipped files", /src\/crowded has 31 shipped files, more than 30/],
  ["a name that the glossary has another word for", /src\/lib\/contained\.ts has the name MOST_TURNS: .* MOST_$/m],
  ["a cast without a reason", /src\/lib\/content\.ts:\d+ a cast gives no reason: .*1 as unknown/],
])("the check fails for %s", (_, line) => {
  expect(report.status).toBe(1)
  expect(report.output).toMatch(line)
})

test("a cast whose reason stands above it is not reported", () => {
  expect(report.output).not.toContain("src/lib/usage.ts")
})
