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
  summary: "Cancel a run that is active in any process, or one that is paused.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "An active run receives the request through its inbox and stops within about a second. Exit code 1: it had already ended.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("cancel", args, options)
    const opened = await openStore(values, output)
    const runId = await findRunId(opened, onlyPositional("cancel", "runId", positionals))
    const nodeId = await openExchange(opened, runId, values.node)
    const accepted = await opened.runtime.cancel(runId, { nodeId })
    const { status } = await opened.runtime.status(runId, nodeId)
    if (values.json) output.printJson({ runId, nodeId, cancelled: accepted, status })
    else if (!accepted) output.complain(`${runId} has already ended: ${status}.`)
    else output.print(status === "cancelled" ? `${runId} is cancelled.` : `${runId} was asked to stop.`)
    return accepted ? 0 : 1
  },
}
