import { type Command, parseCommandLine } from "../arguments.ts"
import { openExchange } from "../exchanges.ts"
import { openNamedRun, runOptions } from "../read-store.ts"

export const command: Command = {
  summary: "Cancel a run that is active in any process, or one that is paused.",
  usage: "[options] <runId>",
  options: runOptions,
  completes: "runId",
  notes: [
    "An active run receives the request through its inbox and stops within about a second. Exit code 1: it had already ended.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("cancel", args, runOptions)
    const { opened, runId } = await openNamedRun("cancel", values, positionals, output)
    const nodeId = await openExchange(opened, runId, values.node)
    const accepted = await opened.runtime.cancel(runId, { nodeId })
    const { status } = await opened.runtime.status(runId, nodeId)
    if (values.json) output.printJson({ runId, nodeId, cancelled: accepted, status })
    else if (!accepted) output.complain(`${runId} has already ended: ${status}.`)
    else output.print(status === "cancelled" ? `${runId} is cancelled.` : `${runId} was asked to stop.`)
    return accepted ? 0 : 1
  },
}
