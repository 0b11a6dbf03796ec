// Breaks promises in the code, one at a time in a copy of the repository, and shows that a test fails for each.
// Usage: node scripts/mutate.mjs [part of a mutation's name] [--sample N]
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { sample } from "./mutate/sources.mjs"
import { TestRunner } from "./mutate/test-runner.mjs"
import { mutations } from "./mutations/index.mjs"

const { values, positionals } = parseArgs({ allowPositionals: true, options: { sample: { type: "string" } } })
const AT_ONCE = 2

const matching = mutations.filter(({ name }) => positionals.every((part) => name.includes(part)))
const wanted = values.sample === undefined ? matching : sample(matching, Number(values.sample), ({ name }) => name)
if (wanted.length === 0) throw new Error(`No mutation is named like ${positionals.join(" ")}.`)
const scratch = mkdtempSync(join(tmpdir(), "longhaul-mutate-"))
let caught = 0
try {
  await proveUnmutated()
  const queue = [...wanted]
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, wanted.length) }, (_, index) => work(index, queue)))
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
console.log(`${caught} of ${wanted.length} mutations caught`)
process.exit(caught === wanted.length ? 0 : 1)

/** A test that fails anyway, or that no longer has its name, would prove nothing. */
async function proveUnmutated() {
  const runner = new TestRunner(join(scratch, "unmutated"))
  const isProgram = wanted.some((mutation) => mutation.isProgram)
  const tests = wanted.flatMap((mutation) => mutation.tests)
  const {
    passed,
    failed,
    unrunnable,
    error = unrunnable?.[0],
  } = await runner.run({ tests, isProgram, limitMs: 1_800_000 })
  runner.stop()
  if (error !== undefined) throw new Error(`The tests cannot be run without any mutation: ${error}`)
  if (failed.length > 0) throw new Error(`Tests fail without any mutation: ${failed.join("; ")}`)
  const missing = wanted.flatMap(({ name, tests }) =>
    tests.flatMap(([file, part]) =>
      passed.some((test) => test.includes(part)) ? [] : `${name}: ${file} has no test named like "${part}"`,
    ),
  )
  if (missing.length > 0) throw new Error(`Tests have other names now:\n${missing.join("\n")}`)
}

async function work(index, queue) {
  const runner = new TestRunner(join(scratch, String(index)))
  for (let mutation = queue.shift(); mutation; mutation = queue.shift()) {
    const verdict = await tryMutation(runner, mutation)
    if (verdict.startsWith("caught")) caught++
    console.log(`${mutation.name} | ${verdict}`)
  }
  runner.stop()
}

async function tryMutation(runner, mutation) {
  const { failed, unrunnable, error = unrunnable?.[0] } = await runner.run(mutation)
  if (error !== undefined) return `STALE: ${error}`
  if (failed.length === 0) return "SURVIVED"
  return `caught by "${failed[0]}"${failed.length > 1 ? ` and ${failed.length - 1} more` : ""}`
}
