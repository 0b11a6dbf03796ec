// Measures the CPU of a decision by 50 rules, without a file system: the rules as a program runs them, from src.
// Usage: node bench/policy.mjs [--assert]
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { build } from "esbuild"
import { fiftyRules } from "./fifty-rules.mjs"

const { values } = parseArgs({ options: { assert: { type: "boolean" } } })
/** In microseconds, for a call with up to three commands and for each further command. */
const goals = { call: 50, further: 5 }
const source = fileURLToPath(new URL("../src/policy/rules/compile-rules.ts", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "longhaul-bench-policy-"))

try {
  const outfile = join(folder, "rules.mjs")
  await build({ entryPoints: [source], outfile, bundle: true, format: "esm", platform: "node", logLevel: "error" })
  const { compileRules } = await import(pathToFileURL(outfile).href)
  const document = { default: "ask", rules: fiftyRules() }
  const resolvePath = async (path) => path
  const rules = await compileRules([{ document, source: "bench" }], { resolvePath, homeFolder: "/home/me" })
  const words = ["git status", "git log --oneline -5", "grep -rn needle src", "npm test", "ls -la docs"]
  const line = (count) => Array.from({ length: count }, (_, index) => words[index % words.length]).join(" && ")
  const calls = {
    Read: ["Read", { path: "src/run/execute-run.ts" }],
    Write: ["Write", { path: "src/run/execute-run.ts", content: "x" }],
    WebFetch: ["WebFetch", { url: "https://docs.example.com/api/run" }],
    "1 command": ["Bash", { command: line(1) }],
    "cd, git log, grep": ["Bash", { command: "cd src && git log --oneline | grep fix" }],
    "3 commands": ["Bash", { command: line(3) }],
    "60 commands": ["Bash", { command: line(60) }],
  }
  const costs = {}
  for (const [name, [tool, args]] of Object.entries(calls)) {
    const call = {
      tool,
      args,
      callId: "c",
      runId: "r",
      cwd: "/ws",
      workspace: "/ws",
      backend: "native",
      sandboxed: false,
    }
    costs[name] = await cpuOf(() => rules.decide(call), name === "60 commands" ? 400 : 4000)
    console.log(`${name.padEnd(20)} ${costs[name].toFixed(1).padStart(7)} µs`)
  }
  const further = (costs["60 commands"] - costs["3 commands"]) / 57
  console.log(`${"each further command".padEnd(20)} ${further.toFixed(1).padStart(7)} µs`)
  const { "60 commands": _, ...short } = costs
  const misses = Object.entries(short).filter(([, cost]) => cost > goals.call)
  for (const [name, cost] of misses) console.log(`missed: ${name} costs ${cost.toFixed(1)} µs, more than ${goals.call}`)
  if (further > goals.further) console.log(`missed: a further command costs ${further.toFixed(1)} µs`)
  if (values.assert && (misses.length > 0 || further > goals.further)) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The median of several rounds: other work on the machine only adds. */
async function cpuOf(work, times) {
  for (let index = 0; index < times; index++) await work()
  const rounds = []
  for (let round = 0; round < 7; round++) {
    const start = process.cpuUsage()
    for (let index = 0; index < times; index++) await work()
    const { user, system } = process.cpuUsage(start)
    rounds.push((user + system) / times)
  }
  return rounds.toSorted((left, right) => left - right)[3]
}
