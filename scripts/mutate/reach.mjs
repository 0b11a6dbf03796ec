import { appendFileSync, readFileSync } from "node:fs"
import { withCondition } from "./checks.mjs"

/** The setup file of every test: what is put in front of it runs in each test file. */
const SETUP = "test/support/property-seed.ts"
const SETUP_START = "import fc from"

/**
 * Runs all tests once with a probe in each check. Returns the tests that reach each check, by the check's place in the list, and how
 * long each test file takes; without those that fail anyway, such as tests of a build, which a copy does not have.
 */
export async function reachOf(checks, testFiles, runners, log) {
  appendFileSync(log, "")
  // From the end of each file: the text of a check may have earlier ones in it.
  const probes = checks
    .map((check, index) => ({ line: check.line, edit: probe(check, index) }))
    .toSorted((one, other) => other.line - one.line)
    .map(({ edit }) => edit)
  const edits = [...probes, { file: SETUP, find: SETUP_START, replace: `${recorder(log)}${SETUP_START}` }]
  const shares = runners.map((_, index) => testFiles.filter((_, place) => place % runners.length === index))
  const results = await Promise.all(
    runners.map((runner, index) =>
      runner.run({ edits, tests: shares[index].map((file) => [file, ""]), limitMs: WHOLE_MS }),
    ),
  )
  for (const { error, failedFiles } of results) {
    if (error !== undefined || failedFiles === undefined) throw new Error(error ?? "The tests did not end.")
  }
  const unusable = new Set(results.flatMap(({ failedFiles }) => failedFiles))
  const seen = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  const usable = seen.filter(({ file }) => !unusable.has(file)).sort((left, right) => left.ms - right.ms)
  return { unusable: [...unusable], testsOf: (index) => usable.filter(({ reached }) => reached.includes(index)) }
}

const WHOLE_MS = 1_800_000

function probe(check, index) {
  // A thread that a test starts has no recorder.
  return withCondition(check, `globalThis.reached?.(${index}) !== false && (${check.condition})`)
}

const recorder = (log) => `import { appendFileSync } from "node:fs"
import { relative } from "node:path"
import { afterAll, expect } from "vitest"
const reached = new Set()
const from = performance.now()
globalThis.reached = (index) => reached.add(index).size > 0
afterAll(() => {
  const file = relative(process.cwd(), expect.getState().testPath)
  appendFileSync(${JSON.stringify(log)}, JSON.stringify({ file, ms: performance.now() - from, reached: [...reached] }) + "\\n")
})
`
