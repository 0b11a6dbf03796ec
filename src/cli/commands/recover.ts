import {
  type Command,
  commonOptions,
  invocation,
  noPositionals,
  numberOption,
  parseCommandLine,
  storeOption,
} from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { openStore, requireNamedStore } from "../read-store.ts"
import { repeatedOptions } from "../repeated-options.ts"

const options = {
  stale: { type: "string", value: "<seconds>", help: "Seconds a run must show no sign of life. Default: 60." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Find runs whose process died and mark them as failed, so that they can be resumed.",
  usage: "[options]",
  options,
  notes: [
    "A dead process on this machine is detected immediately; for other machines, wait for a missing sign of life.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("recover", args, options)
    noPositionals("recover", positionals)
    const seconds = numberOption("stale", values.stale, { from: 1, to: 86_400, whole: false }) ?? 60
    const opened = await openStore(values, output)
    requireNamedStore("recover", opened)
    const { store, workspaceId } = opened
    const { createRuntime } = await import("../../hosts/node/index.ts")
    // Only the runtime knows whether a process on this machine is dead.
    const found = await createRuntime({ store, workspaceId, tools: [], env: {} }).recoverOrphanedRuns({
      staleMs: seconds * 1000,
    })
    if (values.json) output.printJson(found)
    else if (found.length === 0) output.print("No run has lost its process.")
    else {
      const { store: at } = repeatedOptions(values, values.store)
      for (const { runId } of found) output.print(`${runId}  next: ${invocation()} resume ${runId}${at}`)
    }
    return 0
  },
}
