import { type Command, invocation, numberOption, parseCommandLine } from "../arguments.ts"
import { openExchange } from "../exchanges.ts"
import { openNamedRun, runOptions } from "../read-store.ts"
import { repeatedOptions } from "../repeated-options.ts"

const options = {
  at: { type: "string", value: "<seq>", help: "Last record to copy. Default: all records." },
  id: { type: "string", value: "<id>", help: "Id of the new run. Default: a new one." },
  ...runOptions,
} as const

export const command: Command = {
  summary: "Copy the beginning of a run under a new id, to continue from there.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "Record numbers are listed by: longhaul logs <runId>. No model is called and no tool runs until resume.",
    "For a conversation, the last exchange is copied with the messages before it.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("fork", args, options)
    const at = numberOption("at", values.at, { from: 0, to: Number.MAX_SAFE_INTEGER, whole: true })
    const { opened, runId } = await openNamedRun("fork", values, positionals, output)
    const forked = await opened.runtime.fork(runId, {
      nodeId: await openExchange(opened, runId, values.node),
      ...(at !== undefined && { at }),
      ...(values.id !== undefined && { newRunId: values.id }),
    })
    if (values.json) output.printJson({ ...forked, forkOf: runId })
    else {
      const { store } = repeatedOptions(values, values.store)
      output.print(`${forked.runId} is a copy of ${runId}.`)
      output.print(`next     ${invocation()} resume ${forked.runId} --answer "…"${store}`)
    }
    return 0
  },
}
