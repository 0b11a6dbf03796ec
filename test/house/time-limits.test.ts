import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { WATCHDOG_MS } from "../support/watchdog.ts"

const repository = fileURLToPath(new URL("../..", import.meta.url))

/** On a busy machine everything takes longer: whatever waits for a clock fails there. */
const waits = [
  {
    what: "vitest's own waiting, which gives up after a second: use `until`",
    pattern: /\bvi\.wait(?:For|Until)\(|\bexpect\.poll\(/g,
  },
  {
    what: "an assertion on elapsed time",
    pattern: /expect\([^\n]*(?:performance|Date)\.now\(\)\s*-|expect\((?:elapsed|took)\w*\)/g,
  },
  {
    what: "a limit below the watchdog's",
    pattern: /\{\s*timeout: ([\d_]+),?\s*\}(?=,\s*(?:async\b|\())|^\s*\}, ([\d_]+_000)\)$/gm,
  },
]

test("no test depends on the speed of the machine", () => {
  const sources = ["src", "test"].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  )
  // Suites with packages of their own have them below their folder.
  const own = sources.filter((path) => !path.includes("node_modules"))
  const tests = own.filter((path) => /\.test\.ts$|^test\/.*\.ts$/.test(path))
  expect(tests.length).toBeGreaterThan(400)
  expect(tests.flatMap(findWaits)).toEqual([])
})

test("control: such waits are found", () => {
  const bad = [
    "await vi.waitFor(() => seen)",
    "expect(performance.now() - began).toBeLessThan(900)",
    'test("x", { timeout: 30_000 }, async () => {})',
    'test("x", async () => {\n}, 30_000)',
  ]
  for (const text of bad) expect(waitsIn(text), text).toHaveLength(1)
  expect(waitsIn('test("x", { timeout: 1_800_000 }, async () => {})')).toEqual([])
})

function findWaits(path: string): string[] {
  if (path.endsWith("time-limits.test.ts")) return []
  return waitsIn(readFileSync(join(repository, path), "utf8")).map((wait) => `${path}: ${wait}`)
}

function waitsIn(text: string): string[] {
  return waits.flatMap(({ what, pattern }) =>
    Array.from(text.matchAll(pattern), ([found, ...limits]) => {
      const limit = limits.find((given) => given !== undefined)?.replaceAll("_", "")
      return limit !== undefined && Number(limit) >= WATCHDOG_MS ? [] : [`${what}: ${found.trim()}`]
    }).flat(),
  )
}
