// Removes single checks, `if (…) return` or `if (…) throw`, one at a time in a copy of the repository, and shows which of them no test
// notices. Beside scripts/mutate.mjs, whose mutations break promises that somebody thought of.
// Usage: node scripts/mutate-checks.mjs [part of a path …] [--sample N] [--seed N] [--changed REVISION]
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { filesIn, sample, sourcesIn } from "./mutate/sources.mjs"
import { survivors } from "./mutate/survivors.mjs"
import { TestRunner } from "./mutate/test-runner.mjs"

const repository = fileURLToPath(new URL("..", import.meta.url))
const AT_ONCE = 2
const options = { sample: { type: "string" }, seed: { type: "string", default: "1" }, changed: { type: "string" } }
const { values, positionals } = parseArgs({ allowPositionals: true, options })

/** The rooms where a missing check is a hole, and the tests that reach them, of those that start no process in each test. */
const rooms = {
  "src/policy":
    /^src\/policy\/|^test\/(policy(?!-crash)|approval|capabilit|link-attacks|foreign|secrets(?!-cli)|masked|hostile)/,
  "src/runtime/calls":
    /^src\/runtime\/|^test\/(policy-(runtime|service|early|searches)|approval|ungated|large|agents(-background)?\.|offload\.|api-secrets)/,
  "src/backends":
    /^src\/backends\/|^test\/(backend-|cancelled|recorded|ungated|failover|compaction-(runtime|stops)|capabilities)/,
  "src/journal":
    /^src\/(journal|runtime)\/|^test\/(takeovers|torn|run-index|later|damaged|two-machines|fork|lost-store)/,
}
const testFiles = ["src", "test"]
  .flatMap((folder) => filesIn(repository, folder))
  .filter((path) => /\.test\.ts$/.test(path))

const changed =
  values.changed && execFileSync("git", ["diff", "--name-only", values.changed], { cwd: repository, encoding: "utf8" })
const checks = Object.keys(rooms)
  .flatMap((room) => sourcesIn(repository, room))
  .filter(
    (file) => positionals.every((part) => file.includes(part)) && (!changed || changed.split("\n").includes(file)),
  )
  .flatMap(checksIn)
const nameOf = ({ file, text }) => `${file} ${text}`
const wanted = values.sample === undefined ? checks : sample(checks, Number(values.sample), nameOf, Number(values.seed))
console.log(`${wanted.length} of ${checks.length} checks`)

const scratch = mkdtempSync(join(tmpdir(), "longhaul-checks-"))
const counts = new Map(Object.keys(rooms).map((room) => [room, { caught: 0, explained: 0, survived: 0 }]))
try {
  const queue = [...wanted]
  await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => work(index, queue)))
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
for (const [room, { caught, explained, survived }] of counts) {
  console.log(`${room}: ${caught} caught, ${explained} survived with a reason, ${survived} without`)
}
process.exit([...counts.values()].some(({ survived }) => survived > 0) ? 1 : 0)

async function work(index, queue) {
  const runner = new TestRunner(join(scratch, String(index)))
  for (let check = queue.shift(); check; check = queue.shift()) {
    const verdict = await verdictOn(runner, check)
    counts.get(check.room)[verdict]++
    if (verdict === "survived") console.log(`survived: ${check.file}:${check.line} ${check.text}`)
  }
  runner.stop()
}

/** The tests in its own folder notice most; all others of the room run only if they do not. */
async function verdictOn(runner, { room, file, text, edits }) {
  const isNear = (test) => dirname(test) === dirname(file)
  const reaching = testFiles.filter((test) => rooms[room].test(test))
  for (const tests of [reaching.filter(isNear), reaching.filter((test) => !isNear(test))]) {
    if (tests.length === 0) continue
    const { failed, error } = await runner.run({ edits, tests: tests.map((test) => [test, ""]) })
    if (error !== undefined || failed.length > 0) return "caught"
  }
  return survivors.some((known) => known.file === file && known.check === text) ? "explained" : "survived"
}

function checksIn(file) {
  const source = readFileSync(join(repository, file), "utf8")
  const room = Object.keys(rooms).find((name) => file.startsWith(name))
  return source.split("\n").flatMap((text, index) => {
    const [, start, condition] = /^(\s*if )\((.*)\) (?:return|throw)\b/.exec(text) ?? []
    // A text that stands twice cannot be told apart.
    if (condition === undefined || source.split(text).length !== 2) return []
    const replace = text.replace(`${start}(${condition})`, () => `${start}(false as boolean)`)
    return [{ room, file, line: index + 1, text: text.trim(), edits: [{ file, find: text, replace }] }]
  })
}
