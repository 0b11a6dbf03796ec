// Runs all fault-injection suites at full length and prints their counts next to the requirements. Build first. Usage:
// node scripts/prove.mjs [part of a row's name …]
import { spawn, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const repository = fileURLToPath(new URL("..", import.meta.url))
const ALL_CRASHES = { LONGHAUL_ALL_CRASHES: "1" }
const MAX_LENGTH = 300

/**
 * `files` are tests; `machine`: some that need more than Node; `backends`: some that need the programs of vendors, which
 * `npm run test:backends` installs; `script`: a program whose last line is its count.
 */
const rows = [
  {
    name: "SIGKILL",
    files: ["test/crashtest.test.ts"],
    env: ALL_CRASHES,
    bar: "0 lost records, 0 repeated effects, 0 unloadable runs, all resumed; the controls are caught",
  },
  {
    name: "takeovers",
    files: ["test/takeovers.test.ts"],
    env: { LONGHAUL_TAKEOVERS: "200" },
    bar: "four processes that take one run from each other, on every store: 0 unsound journals",
  },
  {
    name: "pause and approve",
    files: ["test/pause-processes.test.ts"],
    env: { LONGHAUL_PAUSES: "100" },
    bar: "100 of 100 finished, each effect once; of two approvers one",
  },
  {
    name: "mcp",
    files: ["test/mcp-orphans.test.ts", "test/mcp-client.test.ts", "test/mcp-definitions.test.ts"],
    env: { LONGHAUL_MCP_KILLS: "50" },
    bar: "0 MCP servers left after 50 kills; every fault of a server settles; changed tools are withheld",
  },
  {
    name: "questions",
    files: ["test/questions-crash.test.ts", "test/mcp-questions-processes.test.ts", "test/mcp-questions.test.ts"],
    env: ALL_CRASHES,
    bar: "calls that ask, killed anywhere: 0 lost, 0 repeated, all resumed; processes killed at each record of a run whose server asks: no answer lost or sent twice",
  },
  {
    name: "agents",
    files: ["test/agents-crash.test.ts", "test/agents-processes.test.ts", "test/agents-budget.test.ts"],
    env: { ...ALL_CRASHES, LONGHAUL_AGENT_PAUSES: "24", LONGHAUL_BUDGET_TREES: "20" },
    bar: "16 agents killed anywhere: 0 lost, 0 repeated, all resumed, each end in the background delivered once; 24 gated agents over killed processes: each effect once; 20 trees: one call over at most",
  },
  {
    name: "budget",
    files: ["test/budget.test.ts", "src/run/cut-streams.test.ts"],
    env: { LONGHAUL_BUDGET_RUNS: "300" },
    bar: "300 runs with cut streams, crashes, ACP agents and trees of depth 3: overspent by one call per parallel branch at most; a killed ACP agent counts as one",
  },
  {
    name: "quality",
    files: ["test/overflow-refusals.test.ts", "test/compaction-quality.test.ts"],
    env: { LONGHAUL_QUALITY: "all" },
    bar: "29 of 29 refusals of real servers shorten the conversation, and the run is done; all facts known in 18 cases, and everything shown to a summary",
  },
  {
    name: "memory",
    files: ["test/memory-crash.test.ts"],
    env: { LONGHAUL_MEMORY_CRASHES: "200" },
    bar: "200 processes killed around the writes of a run that remembers: each item once",
  },
  {
    name: "policy decisions",
    files: ["test/policy-table.test.ts", "test/policy-service.test.ts"],
    env: { LONGHAUL_ALL_DECISIONS: "1" },
    bar: "every mode, tier, callback, rule, service and list as the oracle says; 28 faults of a service: nothing runs",
  },
  {
    name: "release",
    files: ["test/release.test.ts"],
    env: { LONGHAUL_SLICES: "1", LONGHAUL_LIVE_RUNS: "100" },
    bar: "every slice size on three stores: 0 effects lost or doubled; 100 live runs of restarted processes: all done",
  },
  {
    name: "power loss",
    files: ["test/power-loss.test.ts"],
    env: { LONGHAUL_POWER_SEEDS: "50" },
    bar: "every acknowledged record survives; the controls are caught",
  },
  {
    name: "order of writes",
    machine: ["test/machine/write-order.test.ts"],
    bar: "written, synced and named before publishing and before any effect",
  },
  {
    name: "torn or corrupt journal",
    files: ["test/torn-tail.test.ts"],
    bar: "the last line cut at any byte: dropped with a warning; a middle one: a typed error",
  },
  {
    name: "properties",
    files: propertyFiles(),
    env: { LONGHAUL_PROPERTY_SEED: String(Date.now() % 2 ** 31) },
    bar: "every property holds for cases from a new seed",
  },
  {
    name: "mutations",
    script: "scripts/mutate.mjs",
    bar: "each promise that is broken in the code fails a test",
  },
  {
    name: "disk full, EIO",
    files: ["test/disk-full.test.ts"],
    bar: "failed with storage, nothing unwritten published, the run resumes",
  },
  {
    name: "disk errors",
    machine: ["test/machine/disk-errors.test.ts"],
    bar: "the same with a full file system and with injected errors; no shard written again",
  },
  {
    name: "object store",
    files: ["test/s3-faults.test.ts", "test/s3-races.test.ts", "test/s3-requests.test.ts"],
    env: { LONGHAUL_RACES: "200", LONGHAUL_LONG_RUN: "400" },
    bar: "0 lost, 0 violations; a bucket that overwrites is caught; 400 turns resumed in 50 round trips",
  },
  {
    name: "model server",
    files: ["test/byte-cut.test.ts", "src/providers/broken-streams.test.ts"],
    env: { LONGHAUL_EVERY_BYTE: "1" },
    bar: "every stream cut at every byte ends typed; 0 partial calls; a complete answer is asked for once",
  },
  {
    name: "structured output",
    files: ["test/structured-output.test.ts"],
    env: { LONGHAUL_SCHEMAS: "200" },
    bar: "of 200 schemas and every provider, strict never gives what does not fit",
  },
  {
    name: "compaction",
    files: ["test/compaction.test.ts", "test/compaction-faults.test.ts", "test/compaction-kills.test.ts"],
    env: { LONGHAUL_COMPACTIONS: "1000", LONGHAUL_COMPACTION_KILLS: "1", LONGHAUL_COMPACTION_SIGKILLS: "25" },
    bar: "folded conversation = request in 1000 random runs; killed after any record and 200 times by SIGKILL, no durable summary is made twice",
  },
  {
    name: "two resumers",
    files: ["test/races.test.ts"],
    env: { LONGHAUL_RACES: "200" },
    bar: "0 violations in 200 races of each form; broken stores are caught",
  },
  {
    name: "schedules",
    files: ["src/journal/interleavings.test.ts"],
    env: { LONGHAUL_SCHEDULES: "5000" },
    bar: "0 violations",
  },
  {
    name: "run index",
    files: ["test/run-index.test.ts", "test/run-index-repair.test.ts"],
    env: { LONGHAUL_INDEX_SEEDS: "25", LONGHAUL_INDEX_STEPS: "60" },
    bar: "0 lists that differ from what all journals say",
  },
  { name: "clock", machine: ["test/machine/clock.test.ts"], bar: "no early takeover, no hang" },
  {
    name: "webhook receiver",
    files: ["test/webhooks.test.ts", "test/webhooks-crash.test.ts"],
    bar: "at least one delivery, one webhook-id, on schedule; 410 stops",
  },
  { name: "commit of files", files: ["test/commit-crash.test.ts"], env: ALL_CRASHES, bar: "0 mixtures of old and new" },
  {
    name: "swapped paths",
    files: ["src/hosts/node/files/files-race.test.ts"],
    env: { LONGHAUL_SWAPPED_READS: "40000", LONGHAUL_SWAPPED_WRITES: "10000" },
    bar: "0 reads and 0 writes outside",
  },
  {
    name: "two searches",
    files: ["test/search.test.ts"],
    env: { LONGHAUL_SEARCH_FILES: "20000" },
    bar: "the same results from both",
  },
  {
    name: "shell lines",
    machine: ["test/machine/shell-fuzz.test.ts"],
    env: { LONGHAUL_SHELL_LINES: "10000" },
    bar: "10,000 readable lines in dash, bash and bash --posix: 0 executed commands that were not listed; broken readers are caught",
  },
  {
    name: "policy service",
    files: ["test/policy-faults.test.ts", "test/policy-service.test.ts"],
    bar: "0 executions after a fault before the tool, 0 outputs passed on after one behind it; open mode opens for silence only",
  },
  {
    name: "attacks",
    files: [
      ...["test/hostile-text.test.ts", "test/two-machines.test.ts", "src/hosts/node/store/tenants.test.ts"],
      ...["test/tenants.test.ts", "src/extensions/knowledge/attacks.test.ts"],
      ...["src/cli/config/attacks.test.ts", "src/cli/config/planted.test.ts", "src/cli/plain-json.test.ts"],
      ...[
        "src/cli/approval/call-preview.test.ts",
        "src/settings/input/unknown-keys.test.ts",
        "test/public-shapes.test.ts",
      ],
      ...["attacks", "replays", "scopes"].map((name) => `test/approval-${name}.test.ts`),
      ...["test/link-attacks.test.ts", "test/flipping-links.test.ts", "test/capability-attacks.test.ts"],
      ...["test/hostile-schemas.test.ts", "test/masked-words.test.ts", "test/reference-code.test.ts"],
      ...["test/large-arguments.test.ts", "src/settings/backends/recalled-models.test.ts"],
      ...["test/foreign-calls.test.ts", "test/policy-tiers.test.ts", "test/leak-sentinel.test.ts"],
    ],
    machine: ["escapes", "planted", "tenants", "hidden", "rules"].map((name) => `test/machine/sandbox-${name}.test.ts`),
    env: { LONGHAUL_GROWTH: "1", LONGHAUL_LINK_RACES: "10000", LONGHAUL_EVERY_CUT: "1" },
    bar: "0 succeed, of flipping links 0 of 10,000 for each tool; four times the text takes less than twelve times the work",
  },
  {
    name: "attacks: planted vendor files",
    backends: ["test/backends/planted.test.ts"],
    env: { LONGHAUL_ALL_BACKEND_CASES: "1" },
    bar: "each file that a vendor's program reads in a workspace × each backend: 0 run, move an address, set a variable or permit a call",
  },
  {
    name: "vendor processes",
    backends: ["test/backends/death.test.ts"],
    env: { LONGHAUL_DEATHS: "20" },
    bar: "hosts killed 20 times for each backend, and once by each other signal: 0 processes left, 0 further requests",
  },
  {
    name: "transient faults",
    backends: ["test/backends/transient.test.ts"],
    env: { LONGHAUL_ALL_BACKEND_CASES: "1" },
    bar: "529, 429, a reset and a cut answer, at the first request and after a call: 24 of 24 runs survive, each effect once",
  },
  {
    name: "backends",
    backends: ["test/backends"],
    env: { LONGHAUL_ALL_BACKEND_CASES: "1", LONGHAUL_ORPHANS: "50" },
    bar: "every cell of docs/backends.md; failover between every two; one policy; 50 runs killed: no process left",
  },
]

const wanted = process.argv.slice(2)
const chosen = rows.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
const results = []
for (const row of chosen) {
  console.log(`… ${row.name}`)
  const { ok, counts, output } = await prove(row)
  results.push({ ...row, ok, counts })
  if (!ok) console.log(output.split("\n").slice(-80).join("\n"))
}
printTable(results)
const failures = results.filter(({ ok }) => !ok).length
console.log(`\n${results.length - failures} of ${results.length} rows hold`)
process.exit(failures > 0 || results.length === 0 ? 1 : 0)

async function prove({ files, machine, backends, script, env = {} }) {
  if (files && machine) {
    const [first, second] = [await prove({ files, env }), await prove({ machine, env })]
    const counts = [...first.counts, ...second.counts]
    return { ok: first.ok && second.ok, counts, output: `${first.output}\n${second.output}` }
  }
  if (script !== undefined) {
    const { code, output } = await run([script], env)
    return { ok: code === 0, counts: output.trim().split("\n").slice(-1), output }
  }
  if (backends !== undefined) await run(["scripts/test-backends.mjs"], env)
  const kind = backends === undefined ? "machine" : "backends"
  const config = files === undefined ? ["--config", `vitest.${kind}.config.ts`] : []
  const tests = files ?? machine ?? backends
  const { code, output } = await run(["node_modules/vitest/vitest.mjs", "run", ...config, ...tests], env)
  const [count = "no test ended"] = /Tests .*/.exec(output) ?? []
  const seed = env.LONGHAUL_PROPERTY_SEED === undefined ? [] : [`seed ${env.LONGHAUL_PROPERTY_SEED}`]
  return { ok: code === 0, counts: [...seed, ...printed(output), count.replace(/\s+/g, " ")], output }
}

function propertyFiles() {
  const found = spawnSync("git", ["grep", "-l", 'from "fast-check"', "--", "src/*.test.ts"], { cwd: repository })
  return found.stdout.toString().trim().split("\n")
}

function run(args, env) {
  const child = spawn(process.execPath, args, { cwd: repository, env: { ...process.env, NO_COLOR: "1", ...env } })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text
    })
  }
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, output })))
}

/** What tests said of their counts: vitest shows it behind a line of its own, up to an empty one. */
function printed(output) {
  const lines = []
  let isSaid = false
  for (const line of output.split("\n")) {
    if (line.startsWith("stdout | ")) isSaid = true
    else if (line.trim() === "") isSaid = false
    else if (isSaid && /\d/.test(line)) lines.push(line)
  }
  return lines
}

function printTable(results) {
  const cells = results.flatMap(({ name, counts, bar, ok }) =>
    counts.map((count, index) => [
      index === 0 ? name : "",
      count.length > MAX_LENGTH ? `${count.slice(0, MAX_LENGTH - 1)}…` : count,
      index === 0 ? bar : "",
      index === 0 ? (ok ? "ok" : "FAIL") : "",
    ]),
  )
  const lines = [["row", "counted", "bar", ""], ...cells]
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => line[column].length)))
  console.log("")
  for (const line of lines)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
}
