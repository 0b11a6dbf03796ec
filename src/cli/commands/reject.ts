import { pendingCall, showCall } from "../approval/decide.ts"
import { type Command, onlyPositional, parseCommandLine } from "../arguments.ts"
import { printsJson } from "../follow.ts"
import { findRun, goOn, goOnOptions } from "../go-on.ts"

const options = {
  reason: { type: "string", value: "<text>", help: "Why, for the model to hear." },
  ticket: { type: "string", value: "<ticket>", help: "Decide about this question only." },
  ...goOnOptions,
} as const

export const command: Command = {
  summary: "Refuse the call that a paused run waits with, and go on.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: ["Exit codes: 0 done, 1 failed, 2 wrong usage, 3 paused again, 130 cancelled."],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("reject", args, options)
    const found = await findRun(values, onlyPositional("reject", "runId", positionals), output)
    const pending = pendingCall(found, values.ticket)
    if (!printsJson(values) && !values.quiet) showCall(pending, output)
    const reason = values.reason === undefined ? {} : { answer: values.reason }
    return goOn(values, found, { decision: "deny", ticket: pending.ticket, ...reason }, output)
  },
}
