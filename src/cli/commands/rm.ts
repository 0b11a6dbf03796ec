import { confirmed } from "../approval/decide.ts"
import { type Command, commonOptions, invocation, parseCommandLine, storeOption, UsageError } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { type ConversationSummary, conversationsOf } from "../exchanges.ts"
import { counted, reasonOf } from "../format.ts"
import { findRunId, type OpenStore, openStore } from "../read-store.ts"
import { timeOf } from "../time-span.ts"

const statuses = ["done", "failed", "cancelled", "paused"] as const

const options = {
  "older-than": {
    type: "string",
    value: "<span>",
    help: "Delete all runs without a new record for this long: 12h, 30d, 8w.",
  },
  status: {
    type: "string",
    value: "<status>",
    values: statuses,
    help: "With --older-than: only runs with this status.",
  },
  yes: { type: "boolean", short: "y", help: "Skip the confirmation." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Delete runs. Their content is lost for good; their ids stay reserved.",
  usage: "[options] <runId…>",
  options,
  completes: "runId",
  notes: [
    "An active run is not deleted: cancel it first. Exit code 1: a run could not be deleted.",
    "A conversation is deleted as a whole; its age and status are those of its last exchange.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("rm", args, options)
    const opened = await openStore(values, output)
    const chosen = await chooseRuns(opened, positionals, values)
    if (!values.yes && chosen.length > 0) {
      if (!process.stdin.isTTY)
        throw new UsageError(
          "rm asks for confirmation, which needs a terminal.",
          "Add --yes to delete without confirmation.",
        )
      for (const { runId, status } of chosen) output.print(`${runId}  ${status}`)
      if (!(await confirmed(`Delete ${counted(chosen.length, "run")}?`, output))) return 0
    }
    const removed: string[] = []
    const kept: { runId: string; reason: string }[] = []
    for (const { runId, nodeId } of chosen) {
      try {
        if (await opened.runtime.remove(runId, { nodeId })) removed.push(runId)
      } catch (error) {
        kept.push({ runId, reason: reasonOf(error) })
      }
    }
    if (values.json) output.printJson({ removed, kept })
    else {
      output.print(`Deleted ${counted(removed.length, "run")}.`)
      for (const { runId, reason } of kept) output.complain(`${runId} was kept: ${reason}`)
    }
    return kept.length > 0 ? 1 : 0
  },
}

async function chooseRuns(
  opened: OpenStore,
  given: readonly string[],
  { "older-than": span, status }: { readonly "older-than"?: string; readonly status?: string },
): Promise<ConversationSummary[]> {
  if (given.length > 0 === (span !== undefined)) {
    throw new UsageError(
      "rm needs at least one run.",
      `Name the runs, or select them by age: ${invocation()} rm --older-than 30d.`,
    )
  }
  const known = statuses.find((each) => each === status)
  if (status !== undefined && known === undefined) {
    throw new UsageError(
      `Invalid value for --status: ${JSON.stringify(status)}.`,
      `Use one of: ${statuses.join(", ")}.`,
    )
  }
  const all = conversationsOf(await opened.runtime.runs())
  const ids = await Promise.all(given.map((id) => findRunId(opened, id)))
  const before = span === undefined ? undefined : timeOf("older-than", span, Date.now())
  return all.filter((run) => {
    if (known !== undefined && run.status !== known) return false
    return before === undefined ? ids.includes(run.runId) : run.status !== "running" && run.updatedAt < before
  })
}
