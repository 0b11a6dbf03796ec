// Measures what keeping a conversation within its window costs the client: CPU for a turn, for the check before a request that needs
// nothing, and for a compaction, in windows of three sizes. Usage: npm run build && node bench/compaction.mjs [--turns <n>]
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { figure, layOut } from "./report.mjs"

const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "..", "dist")
const load = (path) => import(pathToFileURL(join(dist, path)).href)
const { createCompactionManager } = await load("backends/shared/compaction/index.js")
const { scriptedModel } = await load("testing/index.js")

const { values } = parseArgs({ options: { turns: { type: "string", default: "2000" } } })
const turns = Number(values.turns)
const windows = [8_000, 32_000, 200_000]
const words =
  "Each step reads a file such as src/lib/store.ts, finds 17 lines in it, and writes down what they mean. ".repeat(40)
const text = (content) => ({ type: "text", text: content })

// The first run compiles.
await measured(8_000, 200)
const rows = []
for (const window of windows) rows.push(await measured(window, turns))
console.log(
  layOut([["window", "turns", "compactions", "CPU a turn", "a check that needs nothing", "a compaction"], ...rows]),
)

/** A conversation whose turns have a result of 4,000 characters, with ids that no summary repeats. */
async function measured(window, turns) {
  const summary = "Goal: read the files. Done: many of them. Next action: read the next one."
  const model = scriptedModel(Array.from({ length: 4 * turns }, () => summary))
  const manager = createCompactionManager({ model, window, answerTokens: 1_000 })
  manager.add({ role: "user", content: [text("Read all files.")] })
  const spent = { idle: 0, compacting: 0 }
  let compactions = 0
  const before = cpuMs()
  for (let turn = 0; turn < turns; turn++) {
    const began = cpuMs()
    const compaction = await manager.beforeRequest()
    if (compaction) compactions++
    spent[compaction ? "compacting" : "idle"] += cpuMs() - began
    const callId = `c${turn}`
    manager.add(
      {
        role: "assistant",
        content: [text(`Step ${turn}.`), { type: "tool-call", callId, name: "read", args: { turn } }],
      },
      {
        role: "tool",
        content: [{ type: "tool-result", callId, status: "ok", output: [text(`file-${turn}: ${words}`)] }],
      },
    )
  }
  const all = cpuMs() - before
  return [
    `${window}`,
    `${turns}`,
    `${compactions}`,
    figure(all / turns, "ms"),
    figure(spent.idle / (turns - compactions), "ms"),
    compactions === 0 ? "–" : figure(spent.compacting / compactions, "ms"),
  ]
}

function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
