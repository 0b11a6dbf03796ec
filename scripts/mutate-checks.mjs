// Removes single checks, `if (…) return`, `if (…) throw` and blocks that end so, one at a time in a copy of the repository, and shows
// which of them no test notices. Beside scripts/mutate.mjs, whose mutations break promises that somebody thought of. All tests of
// `npm test` take part: a first run with probes tells which of them reach a check.
// Usage: node scripts/mutate-checks.mjs [part of a path …] [--sample N] [--seed N] [--changed REVISION]
// With --changed, files that were changed since the revision are tried whole, and of the others only a sample.
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { checksIn, withCondition } from "./mutate/checks.mjs"
import { reachOf } from "./mutate/reach.mjs"
import { sample, sourcesIn } from "./mutate/sources.mjs"
import { survivors } from "./mutate/survivors.mjs"
import { TestRunner } from "./mutate/test-runner.mjs"

const repository = fileURLToPath(new URL("..", import.meta.url))
const AT_ONCE = 2
/** Tests that run together before it is looked whether one has failed, by how long they take without a mutation. */
const BATCH_MS = 10_000
const options = { sample: { type: "string" }, seed: { type: "string", default: "1" }, changed: { type: "string" } }
const { values, positionals } = parseArgs({ allowPositionals: true, options })

/** The rooms where a missing check is a hole. */
const rooms = ["src/policy", "src/run/calls", "src/backends", "src/journal"]
const changed =
  values.changed === undefined
    ? []
    : execFileSync("git", ["diff", "--name-only", values.changed], { cwd: repository, encoding: "utf8" }).split("\n")
const checks = rooms
  .flatMap((room) => sourcesIn(repository, room))
  .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
  .flatMap((file) =>
    checksIn(repository, file).map((check) => ({ ...check, room: rooms.find((room) => file.startsWith(room)) })),
  )
const nameOf = ({ file, text }) => `${file} ${text}`
const isChanged = ({ file }) => changed.includes(file)
const others = checks.filter((check) => !isChanged(check))
const sampled = () => sample(others, Number(values.sample ?? 0), nameOf, Number(values.seed))
const isWhole = values.sample === undefined && values.changed === undefined
const wanted = isWhole ? checks : [...checks.filter(isChanged), ...sampled()]
console.log(`${wanted.length} of ${checks.length} checks`)

const scratch = mkdtempSync(join(tmpdir(), "longhaul-checks-"))
const counts = new Map(rooms.map((room) => [room, { caught: 0, explained: 0, survived: 0 }]))
const runners = Array.from({ length: AT_ONCE }, (_, index) => new TestRunner(join(scratch, String(index))))
try {
  const { unusable, testsOf } = await reachOf(wanted, testFiles(), runners, join(scratch, "reached.txt"))
  console.log(`without ${unusable.length} test files that need more than the sources: ${unusable.join(" ")}`)
  const queue = wanted.map((check, index) => ({ ...check, tests: testsOf(index) }))
  await Promise.all(runners.map((runner) => work(runner, queue)))
} finally {
  for (const runner of runners) runner.stop()
  rmSync(scratch, { recursive: true, force: true })
}
for (const [room, { caught, explained, survived }] of counts) {
  console.log(`${room}: ${caught} caught, ${explained} survived with a reason, ${survived} without`)
}
process.exit([...counts.values()].some(({ survived }) => survived > 0) ? 1 : 0)

async function work(runner, queue) {
  for (let check = queue.shift(); check; check = queue.shift()) {
    const { verdict, detail } = await verdictOn(runner, check)
    counts.get(check.room)[verdict]++
    console.log(`${check.file}:${check.line} ${check.text.replace(/\s+/g, " ")} | ${verdict} ${detail}`)
  }
}

/** The tests in its own folder notice most, so they run first. */
async function verdictOn(runner, check) {
  const { file, text, tests } = check
  const isNear = (test) => dirname(test.file) === dirname(file)
  const ordered = [...tests.filter(isNear), ...tests.filter((test) => !isNear(test))]
  for (const batch of batchesOf(ordered)) {
    const limitMs = 120_000 + batch.reduce((sum, { ms }) => sum + 5 * ms, 0)
    const {
      failed,
      unrunnable = [],
      error,
    } = await runner.run({
      edits: [withCondition(check, "false as boolean")],
      tests: batch.map((test) => [test.file, ""]),
      limitMs,
    })
    if (error !== undefined) throw new Error(`${file}: ${text}: ${error}`)
    const [first] = [...failed, ...unrunnable]
    if (first !== undefined) return { verdict: "caught", detail: `by "${first}"` }
  }
  const known = survivors.find((survivor) => survivor.file === file && survivor.check === text)
  if (known) return { verdict: "explained", detail: known.reason }
  return {
    verdict: "survived",
    detail: tests.length === 0 ? "no test reaches it" : `${tests.length} test files reach it`,
  }
}

function batchesOf(tests) {
  const batches = []
  let left = 0
  for (const test of tests) {
    if (left <= 0) {
      batches.push([])
      left = BATCH_MS
    }
    batches.at(-1).push(test)
    left -= test.ms
  }
  return batches
}

/** Of `npm test`: those that start a process in each test take too long. */
function testFiles() {
  const list = ["node_modules/vitest/vitest.mjs", "list", "--filesOnly", "--json"]
  const projects = ["--project", "portable", "--project", "system"]
  const output = execFileSync(process.execPath, [...list, ...projects], { cwd: repository, encoding: "utf8" })
  return JSON.parse(output).map(({ file }) => file.slice(repository.length))
}
