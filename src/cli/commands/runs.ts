import type { RunSummary } from "../../contract/run.ts"
import {
  type Command,
  commonOptions,
  invocation,
  noPositionals,
  numberOption,
  parseCommandLine,
  storeOption,
} from "../arguments.ts"
import { configOptions } from "../config-file.ts"
import { clip, localTime, statusLabel } from "../format.ts"
import type { Output } from "../output.ts"
import { openStore } from "../read-store.ts"

const options = {
  limit: { type: "string", value: "<n>", help: "The most runs to show. Default: 20." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "List the runs, newest first.",
  usage: "[options]",
  options,
  async run(args, output) {
    const { values, positionals } = parseCommandLine("runs", args, options)
    noPositionals("runs", positionals)
    const limit = numberOption("limit", values.limit, { from: 1, to: 1_000_000, whole: true }) ?? 20
    const { store, runtime } = await openStore(values, output)
    const all = await runtime.runs()
    const shown = all.slice(0, limit)
    if (values.json) output.printJson(shown)
    else if (shown.length === 0) printNothing(store.location, output)
    else printTable(shown, all.length, output)
    return 0
  },
}

function printNothing(location: string, output: Output): void {
  output.print(`No runs yet in ${location}.`)
  output.print(`Start one: ${invocation()} run "List the files here and say what they are about"`)
}

function printTable(runs: readonly RunSummary[], total: number, output: Output): void {
  const { colours, stdout } = output
  const ids = runs.map(({ runId, nodeId }) => (nodeId === "main" ? runId : `${runId} (${nodeId})`))
  const idWidth = Math.max(2, ...ids.map((id) => id.length))
  const taskWidth = stdout.isTTY ? Math.max(20, (stdout.columns ?? 80) - idWidth - 42) : 60
  const head = ["id".padEnd(idWidth), "status".padEnd(9), "turns", "started".padEnd(19), "task"]
  output.print(colours.dim(head.join("  ")))
  for (const [index, run] of runs.entries()) {
    const cells = [
      (ids[index] ?? "").padEnd(idWidth),
      statusLabel(run.status, colours) + " ".repeat(9 - run.status.length),
      String(run.turns).padStart(5),
      localTime(run.startedAt),
      clip(run.task, taskWidth),
    ]
    output.print(cells.join("  "))
  }
  if (total > runs.length) output.print(colours.dim(`… and ${total - runs.length} older; --limit ${total} shows all`))
}
