import type { RunRecord } from "../../contract/event.ts"
import {
  type Command,
  commonOptions,
  nodeOption,
  numberOption,
  onlyPositional,
  parseCommandLine,
  storeOption,
} from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { exchangesOf } from "../exchanges.ts"
import { clip, localTime } from "../format.ts"
import { interruptSignal } from "../interrupts.ts"
import type { Output } from "../output.ts"
import { findRunId, openStore, runNotFound } from "../read-store.ts"
import { recordWords } from "../record-words.ts"

const options = {
  follow: { type: "boolean", short: "f", help: "Go on until the run ends, whoever runs it." },
  after: { type: "string", value: "<seq>", help: "Leave out the records up to this number." },
  ...nodeOption,
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Print the records of a run, one on each line.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "The start of a run's id is enough where no other run begins so.",
    "Of a conversation all exchanges are printed; with --after the last one alone, which the number is of.",
    "With --json each line is a record exactly as the journal has it.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("logs", args, options)
    const given = onlyPositional("logs", "runId", positionals)
    const after = numberOption("after", values.after, { from: 0, to: Number.MAX_SAFE_INTEGER, whole: true }) ?? -1
    const { createReader } = await import("../../journal/reader.ts")
    const { runPath } = await import("../../journal/paths.ts")
    const opened = await openStore(values, output)
    const runId = await findRunId(opened, given)
    const nodes = await exchangesOf(opened, runId, values.node)
    const nodeId = nodes.at(-1) ?? nodes[0]
    const readerOf = (node: string) =>
      createReader(opened.store.folder(runPath({ workspaceId: "default", runId, nodeId: node })))
    // Records are numbered within their exchange, and all but the last are over.
    for (const node of values.after === undefined ? nodes.slice(0, -1) : []) {
      for (const record of await readerOf(node).next()) printRecord(record, values.json ?? false, output)
    }

    const reader = readerOf(nodeId)
    let records = await reader.next()
    if (records.length === 0) throw runNotFound(nodeId === "main" ? runId : `${runId}/${nodeId}`, opened.store.location)
    const { signal, giveBack } = interruptSignal()
    try {
      for (let last = records.at(-1); ; last = records.at(-1) ?? last) {
        for (const record of records) if (record.seq > after) printRecord(record, values.json ?? false, output)
        if (!values.follow || last?.type === "run-end") return 0
        if (!(await pause(signal))) return 130
        records = await reader.next()
      }
    } finally {
      giveBack()
    }
  },
}

const lookEveryMs = 200

function printRecord(record: RunRecord, json: boolean, output: Output): void {
  if (json) {
    output.printJson(record)
    return
  }
  const { stdout, colours } = output
  const time = localTime(record.at)
  const seq = String(record.seq).padStart(4)
  const width = stdout.isTTY ? Math.max(80, stdout.columns ?? 80) : 200
  const words = clip(recordWords(record), width - time.length - 24)
  output.print(`${colours.dim(time)} ${seq} ${colours.bold(record.type.padEnd(13))} ${words}`.trimEnd())
}

/** False: it was ended by a signal. */
async function pause(signal: AbortSignal): Promise<boolean> {
  const { setTimeout } = await import("node:timers/promises")
  return setTimeout(lookEveryMs, true, { signal }).catch(() => false)
}
