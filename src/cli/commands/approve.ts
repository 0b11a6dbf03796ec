import { readFile } from "node:fs/promises"
import type { Json } from "../../contract/json.ts"
import { confirmed, pendingCall, showCall } from "../approval/decide.ts"
import { type Command, onlyPositional, parseCommandLine, UsageError } from "../arguments.ts"
import { printsJson } from "../follow.ts"
import { reasonOf } from "../format.ts"
import { findRun, goOn, goOnOptions } from "../go-on.ts"

const options = {
  args: { type: "string", value: "<json>", help: "Run it with these arguments instead of the model's." },
  "args-file": { type: "string", value: "<file>", help: "The same from a file." },
  answer: { type: "string", value: "<text>", help: "Something for the model to hear with the result." },
  ticket: { type: "string", value: "<ticket>", help: "Decide about this question only." },
  yes: { type: "boolean", short: "y", help: "Do not ask again." },
  ...goOnOptions,
} as const

export const command: Command = {
  summary: "Let the call run that a paused run waits with, and go on.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "What is approved is what was shown: if the run waits for something else by then, nothing is approved.",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 paused again, 130 cancelled.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("approve", args, options)
    const changed = await argumentsOf(values)
    const found = await findRun(values, onlyPositional("approve", "runId", positionals), output)
    const pending = pendingCall(found, values.ticket)
    if (!printsJson(values) && !values.quiet)
      showCall({ ...pending, ...(changed !== undefined && { args: changed }) }, output)
    if (!values.yes && !printsJson(values) && !(await confirmed("Approve?", output))) {
      output.complain("Nothing was approved: the run still waits.")
      return 3
    }
    const decision = {
      decision: "approve",
      ticket: pending.ticket,
      ...(changed !== undefined && { args: changed }),
      ...(values.answer !== undefined && { answer: values.answer }),
    } as const
    return goOn(values, found, decision, output)
  },
}

async function argumentsOf(values: {
  readonly args?: string
  readonly "args-file"?: string
}): Promise<Json | undefined> {
  const { args, "args-file": file } = values
  if (args !== undefined && file !== undefined) {
    throw new UsageError("Both --args and --args-file are given.", "Give one of them.")
  }
  const text = file === undefined ? args : await readFile(file, "utf8")
  if (text === undefined) return undefined
  try {
    const parsed: Json = JSON.parse(text)
    return parsed
  } catch (error) {
    const reason = reasonOf(error)
    throw new UsageError(
      `The arguments are not JSON: ${reason}`,
      'Give them as an object, such as \'{"path":"a.txt"}\'.',
    )
  }
}
