import { type Command, onlyPositional, parseCommandLine } from "../arguments.ts"
import { findRun, resumeAndShow, resumeOptions } from "../resume-and-show.ts"

const options = {
  answer: { type: "string", value: "<text>", help: "Answer to the model's question, or a new message to it." },
  ...resumeOptions,
} as const

export const command: Command = {
  summary: "Continue a run that is paused, failed, was cancelled or lost its process.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "The first characters of a run id are enough if they are unique.",
    "Exit codes: 0 done, 1 failed, 2 usage error, 3 paused again, 130 cancelled.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("resume", args, options)
    const found = await findRun(values, onlyPositional("resume", "runId", positionals), output)
    return resumeAndShow(values, found, values.answer === undefined ? {} : { answer: values.answer }, output)
  },
}
