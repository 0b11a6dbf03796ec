import { readFile } from "node:fs/promises"
import type { Json } from "../../contract/json.ts"
import { confirmed, pendingCall, showCall } from "../approval/decide.ts"
import { type Command, onlyPositional, parseCommandLine, UsageError } from "../arguments.ts"
import { printsJson } from "../follow.ts"
import { reasonOf } from "../format.ts"
import { findRun, resumeAndShow, resumeOptions } from "../resume-and-show.ts"

const options = {
  args: { type: "string", value: "<json>", help: "Run it with these arguments instead of the model's." },
  "args-file": { type: "string", value: "<file>", help: "Read the arguments from a file." },
  answer: { type: "string", value: "<text>", help: "Message to the model, delivered with the result." },
  ticket: { type: "string", value: "<ticket>", help: "Decide only this question." },
  yes: { type: "boolean", short: "y", help: "Skip the confirmation." },
  ...resumeOptions,
} as const

export const command: Command = {
  summary: "Approve the pending call of a paused run and continue the run.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "The approval applies to the call that was shown: if the run waits for another one by then, nothing is approved.",
    "Exit codes: 0 done, 1 failed, 2 usage error, 3 paused again, 130 cancelled.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("approve", args, options)
    const changed = await argumentsOf(values)
    const found = await findRun(values, onlyPositional("approve", "runId", positionals), output)
    const pending = pendingCall(found, values.ticket)
    if (!printsJson(values) && !values.quiet)
      showCall({ ...pending, ...(changed !== undefined && { args: changed }) }, output)
    if (!values.yes && !printsJson(values) && !(await confirmed("Approve?", output))) {
      output.complain("Nothing was approved: the run is still waiting.")
      return 3
    }
    const decision = {
      decision: "approve",
      ticket: pending.ticket,
      ...(changed !== undefined && { args: changed }),
      ...(values.answer !== undefined && { answer: values.answer }),
    } as const
    return resumeAndShow(values, found, decision, output)
  },
}

async function argumentsOf(values: {
  readonly args?: string
  readonly "args-file"?: string
}): Promise<Json | undefined> {
  const { args, "args-file": file } = values
  if (args !== undefined && file !== undefined) {
    throw new UsageError("--args and --args-file cannot be combined.", "Use only one of them.")
  }
  const text = file === undefined ? args : await readFile(file, "utf8")
  if (text === undefined) return undefined
  try {
    const parsed: Json = JSON.parse(text)
    return parsed
  } catch (error) {
    const reason = reasonOf(error)
    throw new UsageError(`The arguments are not JSON: ${reason}`, 'Pass a JSON object, such as \'{"path":"a.txt"}\'.')
  }
}
