import { delay } from "../../lib/abort.ts"
import {
  type Command,
  commonOptions,
  invocation,
  noPositionals,
  numberOption,
  parseCommandLine,
  storeOption,
  UsageError,
} from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { type ConversationSummary, newestConversations } from "../exchanges.ts"
import { clip, localTime, statusLabel, statusWord } from "../format.ts"
import { interruptSignal } from "../interrupts.ts"
import { mayDraw, type Output } from "../output.ts"
import { openStore } from "../read-store.ts"

const statuses = ["running", "lost", "damaged", "done", "paused", "failed", "cancelled"] as const

const options = {
  status: { type: "string", value: "<status>", values: statuses, help: "Only runs with this status." },
  watch: { type: "boolean", short: "w", help: "Keep running and show changes." },
  limit: { type: "string", value: "<n>", help: "Maximum number of runs to show. Default: 20." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "List runs, newest first.",
  usage: "[options]",
  options,
  notes: ["A conversation is one row: the status of its last exchange and the task of its first."],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("runs", args, options)
    noPositionals("runs", positionals)
    const limit = numberOption("limit", values.limit, { from: 1, to: 1_000_000, whole: true }) ?? 20
    const status = statusOf(values.status)
    const { store, runtime } = await openStore(values, output)
    const list = async (most: number) => {
      const listed: ConversationSummary[] = []
      for await (const run of newestConversations(runtime)) {
        if (status === undefined || statusWord(run) === status) listed.push(run)
        if (listed.length === most) break
      }
      return listed
    }
    if (values.watch) return watchRuns(() => list(limit), values.json ?? false, output)
    // One more shows whether there are older ones.
    const found = await list(limit + 1)
    const shown = found.slice(0, limit)
    if (values.json) output.printJson(shown)
    else if (shown.length === 0) printNothing(store.location, output)
    else printTable(shown, found.length > limit, output)
    return 0
  },
}

function statusOf(given: string | undefined): (typeof statuses)[number] | undefined {
  const known = statuses.find((each) => each === given)
  if (given === undefined || known !== undefined) return known
  throw new UsageError(`Invalid value for --status: ${JSON.stringify(given)}.`, `Use one of: ${statuses.join(", ")}.`)
}

/** On a terminal the list is redrawn; elsewhere each change is a line. Ends with Ctrl-C. */
async function watchRuns(
  list: () => Promise<readonly ConversationSummary[]>,
  json: boolean,
  output: Output,
): Promise<number> {
  const { signal, removeHandlers } = interruptSignal()
  const draws = Boolean(output.stdout.isTTY) && mayDraw() && !json
  const seen = new Map<string, string>()
  try {
    while (!signal.aborted) {
      const runs = await list()
      const changed = runs.filter((run) => seen.get(keyOf(run)) !== mark(run))
      for (const run of changed) seen.set(keyOf(run), mark(run))
      if (draws) {
        output.stdout.write("\u001b[2J\u001b[H")
        printTable(runs, false, output)
      } else if (json) for (const run of changed.toReversed()) output.printJson(run)
      else if (changed.length > 0) for (const run of changed.toReversed()) output.print(lineOf(run, output))
      await delay(WATCH_MS, signal)
    }
    return 130
  } finally {
    removeHandlers()
  }
}

const WATCH_MS = 1000

function keyOf({ runId, nodeId }: ConversationSummary): string {
  return nodeId === "main" ? runId : `${runId} (${nodeId})`
}

function mark(run: ConversationSummary): string {
  return `${statusWord(run)} ${run.turns}`
}

function lineOf(run: ConversationSummary, { colours }: Output): string {
  return `${localTime(run.updatedAt)}  ${keyOf(run)}  ${statusLabel(statusWord(run), colours)}  ${run.turns}  ${taskOf(run, 60)}`
}

/** The first message and the number of later ones. */
function taskOf({ task, exchanges }: ConversationSummary, width: number): string {
  const more = exchanges > 1 ? ` (+${exchanges - 1})` : ""
  return `${clip(task, width - more.length)}${more}`
}

function printNothing(location: string, output: Output): void {
  output.print(`No runs yet in ${location}.`)
  output.print(`Start one: ${invocation()} run "List the files here and say what they are about"`)
}

/** On a terminal, no line is wider than the terminal and ids are as short as they can be while still unique. */
function printTable(runs: readonly ConversationSummary[], hasOlder: boolean, output: Output): void {
  const { colours, stdout } = output
  const columns = stdout.isTTY ? (stdout.columns ?? 80) : undefined
  const ids = columns === undefined ? runs.map(keyOf) : shortIds(runs.map(keyOf))
  const idWidth = Math.max(2, ...ids.map((id) => id.length))
  // Where space is short, drop the year and the seconds first.
  const time = (at: number) => (columns !== undefined && columns < 80 ? localTime(at).slice(5, 16) : localTime(at))
  const fixed = idWidth + statusWidth + 5 + time(0).length + 8
  const taskWidth = columns === undefined ? 60 : Math.max(8, columns - fixed)
  const head = ["id".padEnd(idWidth), "status".padEnd(statusWidth), "turns", "started".padEnd(time(0).length), "task"]
  output.print(colours.dim(head.join("  ")))
  for (const [index, run] of runs.entries()) {
    const status = statusWord(run)
    const cells = [
      (ids[index] ?? "").padEnd(idWidth),
      statusLabel(status, colours) + " ".repeat(statusWidth - status.length),
      String(run.turns).padStart(5),
      time(run.startedAt),
      taskOf(run, taskWidth),
    ]
    output.print(cells.join("  "))
  }
  if (hasOlder) output.print(colours.dim(`… and older runs; --limit ${runs.length * 5} shows more`))
}

const statusWidth = "cancelled".length

/** Unique prefixes, which every command accepts; short ids stay as they are. */
function shortIds(ids: readonly string[]): readonly string[] {
  return ids.map((id) => {
    let length = Math.min(id.length, MIN_ID_LENGTH)
    while (length < id.length && ids.some((other) => other !== id && other.startsWith(id.slice(0, length)))) length++
    return id.length <= MAX_WHOLE_ID_LENGTH ? id : id.slice(0, length)
  })
}

/** `run_` and eight digits of the random part. */
const MIN_ID_LENGTH = 12
const MAX_WHOLE_ID_LENGTH = 16
