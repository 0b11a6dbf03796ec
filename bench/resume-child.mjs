import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

/** One subject in one fresh process; prints its results and CPU time as a line of JSON. */
const { what, dir, records: wanted } = JSON.parse(process.argv[2])
const folder = join(dir, "store/workspaces/default/.longhaul/projects/long/nodes/main")
const recordsPerTurn = 7

const subjects = { make, parse, status, resume }
process.stdout.write(`${JSON.stringify(await subjects[what]())}\n`, () => process.exit(0))

/** A run with this many records, each turn a text, a call and its result: it stops at its turn limit. */
async function make() {
  const workspace = join(dir, "workspace")
  mkdirSync(workspace, { recursive: true })
  const turns = Math.ceil(wanted / recordsPerTurn)
  const { runtime } = await open((asked) => stepOf(asked))
  await runtime.run({ runId: "long", task: "Do all the steps.", limits: { turns } })
  return { ...(await parse()), turns, folder }
}

/** The minimum that any implementation has to do. */
function parse() {
  return clocked(() => {
    let records = 0
    for (const name of readdirSync(folder).sort()) {
      if (!name.endsWith(".jsonl")) continue
      for (const line of readFileSync(join(folder, name), "utf8").split("\n")) {
        if (line !== "" && JSON.parse(line).seq !== undefined) records++
      }
    }
    return { records }
  })
}

async function status() {
  const { runtime } = await open(() => [])
  const { cpuMs, state } = await clocked(async () => ({ state: await runtime.status("long") }))
  return { turns: state.toolCalls.length, cpuMs }
}

async function resume() {
  let cpu
  let turns
  let before
  const { runtime } = await open((messages) => {
    cpu = process.cpuUsage(before)
    turns = messages.filter(({ role }) => role === "tool").length
    return { type: "text", text: "Done." }
  })
  before = process.cpuUsage()
  const { status } = await runtime.resume({ runId: "long", limits: { turns: 1_000_000 } })
  if (status !== "done") throw new Error(`the run ended ${status}`)
  return { turns, cpuMs: (cpu.user + cpu.system) / 1000 }
}

async function open(answer) {
  const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist")
  const { createRuntime, defineTool, fsStore } = await import(pathToFileURL(join(dist, "hosts/node/index.js")).href)
  const tool = defineTool({
    name: "step",
    description: "Does one step of the work.",
    effect: "once",
    inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    run: ({ n }) => `Step ${n}: ${prose(1600)}`,
  })
  const usage = { inputTokens: 1000, outputTokens: 200, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.001 }
  let asked = 0
  const call = async (messages) => {
    const parts = [answer(what === "make" ? asked++ : messages)].flat()
    const calls = parts.some(({ type }) => type === "tool-call")
    return { parts, stopReason: calls ? "tool-calls" : "end", usage, model: "bench" }
  }
  const model = { provider: "bench", id: "bench", converse: () => ({ call }) }
  const runtime = createRuntime({
    store: fsStore(join(dir, "store")),
    workspace: join(dir, "workspace"),
    tools: [tool],
    model,
  })
  return { runtime }
}

function stepOf(n) {
  return [
    { type: "text", text: `Now step ${n}. ${prose(1200)}` },
    { type: "tool-call", wireId: `call_${n}`, name: "step", args: { n, note: prose(700) } },
  ]
}

/** ASCII, with characters that must be escaped, as in code and tables. */
function prose(length) {
  return 'The report says "done" for all rows;\nthe sum is 41.7 % of the year before.\t'.repeat(40).slice(0, length)
}

async function clocked(work) {
  const before = process.cpuUsage()
  const done = await work()
  const { user, system } = process.cpuUsage(before)
  return { ...done, cpuMs: (user + system) / 1000 }
}
