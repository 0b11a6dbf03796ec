// Reintroduces every known flaw of the journal's protocol into the code, one at a time, and shows that a test fails for
// it. Usage: node scripts/mutate-journal.mjs [part of a flaw's name]
import { spawn } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { mutations } from "./journal-mutations.mjs"

const repository = fileURLToPath(new URL("..", import.meta.url))
const wanted = mutations.filter(({ hole }) => hole.includes(process.argv[2] ?? ""))
const scratch = mkdtempSync(join(tmpdir(), "longhaul-mutate-"))
const RUN_MS = 90_000
let failed = false

try {
  for (const name of ["src", "tsconfig.json", "vitest.config.ts", "package.json"]) {
    cpSync(join(repository, name), join(scratch, name), { recursive: true })
  }
  cpSync(join(repository, "test/support/scene.ts"), join(scratch, "test/support/scene.ts"))
  symlinkSync(join(repository, "node_modules"), join(scratch, "node_modules"))

  const untouched = await runTests("src/journal")
  if (untouched.length > 0) throw new Error(`the tests fail without any mutation: ${untouched.join("; ")}`)
  for (const mutation of wanted) {
    const verdict = await tryMutation(mutation)
    if (!verdict.startsWith("killed")) failed = true
    console.log(`${mutation.hole} | ${verdict}`)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)

async function tryMutation({ hole, edits, test }) {
  const originals = new Map()
  try {
    for (const { file, find, replace } of edits) {
      const path = join(scratch, file)
      const source = readFileSync(path, "utf8")
      if (source.split(find).length !== 2) return `STALE: ${file} does not hold exactly once: ${find.slice(0, 80)}`
      if (!originals.has(path)) originals.set(path, source)
      writeFileSync(
        path,
        source.replace(find, () => replace),
      )
    }
    const failures = await runTests(test)
    return failures.length === 0 ? "SURVIVED" : `killed by ${directedFirst(failures, hole.split(" ")[0])}`
  } finally {
    for (const [path, source] of originals) writeFileSync(path, source)
  }
}

/** The names of the failing tests; a run that does not end counts as a failure. */
async function runTests(test) {
  const report = join(scratch, "report.json")
  rmSync(report, { force: true })
  const vitest = ["run", test, "--reporter=json", `--outputFile=${report}`, "--testTimeout=5000"]
  const child = spawn(process.execPath, [join(scratch, "node_modules/vitest/vitest.mjs"), ...vitest], {
    cwd: scratch,
    env: { ...process.env, LONGHAUL_SCHEDULES: process.env.LONGHAUL_SCHEDULES ?? "100" },
    stdio: "ignore",
    detached: true,
  })
  let timedOut = false
  const bound = setTimeout(() => {
    timedOut = true
    process.kill(-child.pid, "SIGKILL") // its own group: vitest and the workers it started
  }, RUN_MS)
  const code = await new Promise((resolve) => child.once("exit", resolve))
  clearTimeout(bound)
  if (timedOut) return [`a run of the tests that did not end in ${RUN_MS / 1000} s`]
  const { testResults } = JSON.parse(readFileSync(report, "utf8"))
  const failures = testResults.flatMap(({ assertionResults, status, name, message }) => {
    const failing = assertionResults.filter((result) => result.status === "failed").map(({ title }) => title)
    // A file that cannot be loaded proves nothing about the flaw.
    if (failing.length === 0 && status === "failed") throw new Error(`${name}: ${message}`)
    return failing
  })
  if (failures.length === 0 && code !== 0) return [`vitest, which ended with code ${code}`]
  return failures
}

/** The test that names the flaw explains it best; a random schedule only shows that something is wrong. */
function directedFirst(failures, tag) {
  const directed = failures.filter((name) => !name.includes("whatever the schedule"))
  const named = directed.find((name) => name.split(":")[0].includes(tag))
  return `"${named ?? directed[0] ?? failures[0]}"${failures.length > 1 ? ` and ${failures.length - 1} more` : ""}`
}
