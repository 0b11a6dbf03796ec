import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { WATCHDOG_MS } from "../support/watchdog.ts"
import { shortWaits } from "./short-waits.ts"

const repository = fileURLToPath(new URL("../..", import.meta.url))
/** What the slowest machine needs. */
const LEAST_MS = 300_000

interface Limits {
  readonly testTimeout?: number
  readonly hookTimeout?: number
}

interface Suite {
  readonly default: { readonly test: Limits & { readonly projects?: readonly { readonly test: Limits }[] } }
}

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
]

test("no test depends on the speed of the machine", () => {
  const sources = ["src", "test"].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  )
  // Suites with packages of their own have them below their folder.
  const own = sources.filter((path) => !path.includes("node_modules"))
  const tests = own.filter((path) => /\.test\.ts$|^test\/.*\.(ts|mjs)$/.test(path) && !path.endsWith(".d.ts"))
  expect(tests.length).toBeGreaterThan(400)
  expect(tests.flatMap(findWaits)).toEqual([])
})

const suites = readdirSync(repository).filter((name) => /^vitest\.(.*\.)?config\./.test(name))

test("every suite has a configuration of its own, and they are at the root", () => {
  expect(suites.length).toBeGreaterThanOrEqual(5)
  const below = readdirSync(join(repository, "test"), { recursive: true, encoding: "utf8" })
  expect(below.filter((path) => /vite(st)?\.[\w.]*config\./.test(path) && !path.includes("node_modules"))).toEqual([])
})

test.each(suites)("the tests and hooks of %s end with the watchdog, five minutes or later", async (name) => {
  expect(WATCHDOG_MS).toBeGreaterThanOrEqual(LEAST_MS)
  const suite: Suite = await import(new URL(`../../${name}`, import.meta.url).href)
  const { projects = [], ...common } = suite.default.test
  for (const { testTimeout, hookTimeout } of [common, ...projects.map(({ test }) => ({ ...common, ...test }))]) {
    expect(testTimeout).toBeGreaterThanOrEqual(LEAST_MS)
    expect(hookTimeout).toBeGreaterThanOrEqual(LEAST_MS)
  }
})

test.each([
  "await vi.waitFor(() => seen)",
  "expect(performance.now() - began).toBeLessThan(900)",
  'test("x", { timeout: 30_000 }, async () => {})',
  'test("x", async () => {\n}, 30_000)',
  'const limit = all ? 600_000 : 60_000\ntest("x", { timeout: limit }, async () => {})',
  'const limit = 30_000 + rounds * 15_000\ntest.each(cases)("x", async () => {}, limit)',
  "export const timeout = all ? 600_000 : 60_000",
  "beforeAll(async () => {}, 10_000)",
  'execFileSync(program, [], { encoding: "utf8", timeout: 60_000 })',
  "const watchdog = setTimeout(() => process.exit(3), order.bucket ? 80_000 : 20_000)\nclearTimeout(watchdog)",
  "const LIMIT_MS = 5_000\nconst timer = setTimeout(() => {\n  this.end()\n}, LIMIT_MS)\nclearTimeout(timer)",
  "await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 2_000))])",
  "await fetch(url, { signal: AbortSignal.timeout(500) })",
  "const end = performance.now() + 15_000\nwhile (running && performance.now() < end) await look()",
  "for (let tries = 0; tries < 5000 && !seen(); tries++) await new Promise((resolve) => setTimeout(resolve, 1))",
])("control: a wait that is too short is found: %s", (text) => {
  expect(waitsIn(text)).toHaveLength(1)
})

test.each([
  'test("x", { timeout: 1_800_000 }, async () => {})',
  'test("x", { timeout: WATCHDOG_MS + rounds * 15_000 }, async () => {})',
  "const timer = setTimeout(() => this.end(), PATIENCE_MS)\nclearTimeout(timer)",
  "const timer = setTimeout(() => child.kill(), 200 + pick(3000))\nclearTimeout(timer)",
  "await Promise.race([played, new Promise((resolve) => setTimeout(resolve, 0))])",
  "for (let index = 0; index < 3; index++) await new Promise((resolve) => setTimeout(resolve, 5))",
])("control: other waits are left alone: %s", (text) => {
  expect(waitsIn(text)).toEqual([])
})

function findWaits(path: string): string[] {
  if (path.endsWith("time-limits.test.ts")) return []
  return waitsIn(readFileSync(join(repository, path), "utf8")).map((wait) => `${path}: ${wait}`)
}

function waitsIn(text: string): string[] {
  const found = waits.flatMap(({ what, pattern }) =>
    Array.from(text.matchAll(pattern), ([wait]) => `${what}: ${wait.trim()}`),
  )
  return [...found, ...shortWaits(text)]
}
