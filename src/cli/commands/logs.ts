import type { RunRecord } from "../../contract/event.ts"
import type { RunKey } from "../../contract/store.ts"
import type { RunReader } from "../../journal/reader.ts"
import { type Command, numberOption, onlyPositional, parseCommandLine } from "../arguments.ts"
import { describeRecord } from "../describe-record.ts"
import { exchangesOf } from "../exchanges.ts"
import { agentIndent, clip, localTime } from "../format.ts"
import { interruptSignal } from "../interrupts.ts"
import type { Output } from "../output.ts"
import { findRunId, openStore, runNotFound, runOptions } from "../read-store.ts"

const options = {
  follow: { type: "boolean", short: "f", help: "Keep printing until the run ends, whichever process owns it." },
  after: { type: "string", value: "<seq>", help: "Skip the records up to this number." },
  ...runOptions,
} as const

export const command: Command = {
  summary: "Print the records of a run, one per line.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "The first characters of a run id are enough if they are unique.",
    "For a conversation, all exchanges are printed; with --after, only the last one.",
    "With --json, each line is a record exactly as stored in the journal; records of agents also have `agent`.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("logs", args, options)
    const given = onlyPositional("logs", "runId", positionals)
    const after = numberOption("after", values.after, { from: 0, to: Number.MAX_SAFE_INTEGER, whole: true }) ?? -1
    const { createReader, isVoidClaim } = await import("../../journal/reader.ts")
    const { isDead } = await import("../../hosts/node/owner.ts")
    const { agentKey, runPath } = await import("../../journal/paths.ts")
    const opened = await openStore(values, output)
    const runId = await findRunId(opened, given)
    const nodes = await exchangesOf(opened, runId, values.node)
    const nodeId = nodes.at(-1) ?? nodes[0]
    const readerOf = (key: RunKey) => {
      const folder = opened.store.folder(runPath(key))
      return createReader(folder, (_, taking) => isVoidClaim(folder, taking, isDead))
    }
    const print = (record: RunRecord, { agent }: RunKey) =>
      printRecord(agent === undefined ? record : { ...record, agent }, values.json ?? false, output)
    const tree = (nodeOfRun: string) =>
      new Tree({ workspaceId: opened.workspaceId, runId, nodeId: nodeOfRun }, readerOf, agentKey, print)
    // Records are numbered per exchange, and only the last exchange can still be running.
    for (const node of values.after === undefined ? nodes.slice(0, -1) : []) await tree(node).printNew(-1)

    const { signal, removeHandlers } = interruptSignal()
    try {
      const last = tree(nodeId)
      if (!(await last.printNew(after))) {
        throw runNotFound(nodeId === "main" ? runId : `${runId}/${nodeId}`, opened.store.location)
      }
      while (values.follow && !last.hasEnded) {
        if (!(await pause(signal))) return 130
        await last.printNew(after)
      }
      return 0
    } finally {
      removeHandlers()
    }
  },
}

/** The journals of a run or an agent and of the agents that it started. */
class Tree {
  readonly #key: RunKey
  readonly #readerOf: (key: RunKey) => RunReader
  readonly #agentKey: (key: RunKey, agentId: string) => RunKey
  readonly #print: (record: RunRecord, key: RunKey) => void
  readonly #reader: RunReader
  readonly #agents = new Map<string, Tree>()
  hasEnded = false

  constructor(
    key: RunKey,
    readerOf: (key: RunKey) => RunReader,
    agentKey: (key: RunKey, agentId: string) => RunKey,
    print: (record: RunRecord, key: RunKey) => void,
  ) {
    this.#key = key
    this.#readerOf = readerOf
    this.#agentKey = agentKey
    this.#print = print
    this.#reader = readerOf(key)
  }

  /** Prints the new records, those of an agent after its start. Returns false if there are none. */
  async printNew(after: number): Promise<boolean> {
    const earlier = [...this.#agents.values()]
    const records = await this.#reader.next()
    for (const record of records) {
      if (record.seq > after) this.#print(record, this.#key)
      this.hasEnded = record.type === "run-end"
      if (record.type !== "agent-start" || record.seq <= after || this.#agents.has(record.agentId)) continue
      const agent = new Tree(this.#agentKey(this.#key, record.agentId), this.#readerOf, this.#agentKey, this.#print)
      this.#agents.set(record.agentId, agent)
      await agent.printNew(-1)
    }
    for (const agent of earlier) await agent.printNew(-1)
    return records.length > 0
  }
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
  const indent = agentIndent(record.agent)
  output.print(`${colours.dim(time)} ${indent}${seq} ${colours.bold(record.type.padEnd(13))} ${words}`.trimEnd())
}

/** False: a signal ended it. */
async function pause(signal: AbortSignal): Promise<boolean> {
  const { setTimeout } = await import("node:timers/promises")
  return setTimeout(lookEveryMs, true, { signal }).catch(() => false)
}
