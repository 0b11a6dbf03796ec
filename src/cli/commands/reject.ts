import { pendingCall, showCall } from "../approval/decide.ts"
import { type Command, onlyPositional, parseCommandLine } from "../arguments.ts"
import { printsJson } from "../follow.ts"
import { findRun, resumeAndShow, resumeOptions } from "../resume-and-show.ts"

const options = {
  reason: { type: "string", value: "<text>", help: "Reason, delivered to the model." },
  ticket: { type: "string", value: "<ticket>", help: "Decide only this question." },
  ...resumeOptions,
} as const

export const command: Command = {
  summary: "Deny the pending call of a paused run and continue the run.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: ["Exit codes: 0 done, 1 failed, 2 usage error, 3 paused again, 130 cancelled."],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("reject", args, options)
    const found = await findRun(values, onlyPositional("reject", "runId", positionals), output)
    const pending = pendingCall(found, values.ticket)
    if (!printsJson(values) && !values.quiet) showCall(pending, output)
    const reason = values.reason === undefined ? {} : { answer: values.reason }
    return resumeAndShow(values, found, { decision: "deny", ticket: pending.ticket, ...reason }, output)
  },
}
