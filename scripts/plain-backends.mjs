// Tries the versions of the vendors' programs that a plain `npm install` gives beside those that are pinned, and reports what changed:
// the versions, and each test of `npm run test:backends` that fails with them. Usage: npm run backends:plain [-- test file …]
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installPrograms, pinned, plain, versioned } from "./backends/install.mjs"

const repository = fileURLToPath(new URL("..", import.meta.url))
const folder = installPrograms(".backends-plain", plain)
installPrograms(".backends", pinned)

console.log("\nprogram | pinned | plain install")
for (const [name, title] of versioned) {
  const now = versionOf(name)
  console.log(`${title} | ${pinned[name]} | ${now}${now === pinned[name] ? "" : " (differs)"}`)
}

const scratch = mkdtempSync(join(tmpdir(), "longhaul-plain-"))
try {
  const report = join(scratch, "report.json")
  const files = process.argv.slice(2)
  const args = [
    "run",
    "--config",
    "vitest.backends.config.ts",
    "--testTimeout=60000",
    "--reporter=json",
    `--outputFile=${report}`,
    ...files,
  ]
  const env = { ...process.env, LONGHAUL_PROGRAMS: folder }
  spawnSync("npm", ["run", "--silent", "build"], { cwd: repository, stdio: "inherit" })
  spawnSync("node_modules/.bin/vitest", args, { cwd: repository, env, stdio: ["ignore", "ignore", "inherit"] })
  if (!existsSync(report)) throw new Error("The tests did not end.")
  const { numPassedTests, numTotalTests, testResults } = JSON.parse(readFileSync(report, "utf8"))
  console.log(`\n${numPassedTests} of ${numTotalTests} tests pass with the plain versions`)
  for (const { name, assertionResults } of testResults)
    for (const { status, fullName, failureMessages } of assertionResults)
      if (status === "failed") {
        console.log(`changed: ${name.slice(repository.length)}: ${fullName}`)
        console.log(`  ${failureMessages[0]?.split("\n")[0]}`)
      }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

function versionOf(name) {
  const file = join(folder, "node_modules", name, "package.json")
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : "not installed"
}
