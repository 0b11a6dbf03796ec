import { type Command, onlyPositional, parseCommandLine } from "../arguments.ts"
import { findRun, goOn, goOnOptions } from "../go-on.ts"

const options = {
  answer: { type: "string", value: "<text>", help: "What the model is told: the answer to its question." },
  ...goOnOptions,
} as const

export const command: Command = {
  summary: "Go on with a run that is paused, failed, was cancelled or lost its process.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "The start of a run's id is enough where no other run begins so.",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 paused again, 130 cancelled.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("resume", args, options)
    const found = await findRun(values, onlyPositional("resume", "runId", positionals), output)
    return goOn(values, found, values.answer === undefined ? {} : { answer: values.answer }, output)
  },
}
