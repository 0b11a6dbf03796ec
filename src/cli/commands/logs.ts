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
import { describeRecord } from "../describe-record.ts"
import { exchangesOf } from "../exchanges.ts"
import { clip, localTime } from "../format.ts"
import { interruptSignal } from "../interrupts.ts"
import type { Output } from "../output.ts"
import { findRunId, openStore, runNotFound } from "../read-store.ts"

const options = {
  follow: { type: "boolean", short: "f", help: "Keep printing until the run ends, whichever process owns it." },
  after: { type: "string", value: "<seq>", help: "Skip the records up to this number." },
  ...nodeOption,
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Print the records of a run, one per line.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "The first characters of a run id are enough if they are unique.",
    "For a conversation, all exchanges are printed; with --after, only the last one.",
    "With --json, each line is a record exactly as stored in the journal.",
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
    // Records are numbered per exchange, and only the last exchange can still be running.
    for (const node of values.after === undefined ? nodes.slice(0, -1) : []) {
      for (const record of await readerOf(node).next()) printRecord(record, values.json ?? false, output)
    }

    const reader = readerOf(nodeId)
    let records = await reader.next()
    if (records.length === 0) throw runNotFound(nodeId === "main" ? runId : `${runId}/${nodeId}`, opened.store.location)
    const { signal, removeHandlers } = interruptSignal()
    try {
      for (let last = records.at(-1); ; last = records.at(-1) ?? last) {
        for (const record of records) if (record.seq > after) printRecord(record, values.json ?? false, output)
        if (!values.follow || last?.type === "run-end") return 0
        if (!(await pause(signal))) return 130
        records = await reader.next()
      }
    } finally {
      removeHandlers()
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
  const words = clip(describeRecord(record), width - time.length - 24)
  output.print(`${colours.dim(time)} ${seq} ${colours.bold(record.type.padEnd(13))} ${words}`.trimEnd())
}

/** False: a signal ended it. */
async function pause(signal: AbortSignal): Promise<boolean> {
  const { setTimeout } = await import("node:timers/promises")
  return setTimeout(lookEveryMs, true, { signal }).catch(() => false)
}
