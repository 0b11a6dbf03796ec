import { type Command, commonOptions, nodeOption, onlyPositional, parseCommandLine, storeOption } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { openExchange } from "../exchanges.ts"
import { findRunId, openStore } from "../read-store.ts"

const options = {
  ...nodeOption,
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Cancel a run, in whatever process it is, or one that is paused.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: ["A live run is told through its journal's inbox and stops within a second or so. Exit code 1: it was over."],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("cancel", args, options)
    const opened = await openStore(values, output)
    const runId = await findRunId(opened, onlyPositional("cancel", "runId", positionals))
    const nodeId = await openExchange(opened, runId, values.node)
    const told = await opened.runtime.cancel(runId, { nodeId })
    const { status } = await opened.runtime.status(runId, nodeId)
    if (values.json) output.printJson({ runId, nodeId, cancelled: told, status })
    else if (!told) output.complain(`${runId} is over already: ${status}.`)
    else output.print(status === "cancelled" ? `${runId} is cancelled.` : `${runId} was told to stop.`)
    return told ? 0 : 1
  },
}
