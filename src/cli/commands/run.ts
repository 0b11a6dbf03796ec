import { LonghaulError } from "../../contract/error.ts"
import type { RunResult } from "../../contract/result.ts"
import {
  asksFor,
  type Command,
  commonOptions,
  invocation,
  parseCommandLine,
  storeOption,
  UsageError,
} from "../arguments.ts"
import { configOptions, readConfig } from "../config-file.ts"
import { exitCodes, printAnswer, printEnding } from "../ending.ts"
import { follow, progressFor } from "../follow.ts"
import { guardMetadata, guardOf, guardOptions } from "../gate.ts"
import type { Output } from "../output.ts"
import { chosenInput, inputOptions, startNotes, startOptions } from "../run-options.ts"
import { inputSettings, openRuntime } from "../run-settings.ts"

const options = {
  ...startOptions,
  timeout: { type: "string", value: "<seconds>", help: "The longest the run may take." },
  "read-only": { type: "boolean", help: "Take away the tools that change anything." },
  ...inputOptions,
  ...guardOptions,
  "run-id": { type: "string", value: "<id>", help: "The run's name. Default: a new one." },
  ...storeOption,
  ...configOptions,
  quiet: { type: "boolean", help: "Print the answer only." },
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Run a task to its end. A task of - is read from stdin.",
  usage: "[options] <task…>",
  options,
  notes: [
    ...startNotes,
    "Ctrl-C lets the current step finish; pressed again, it stops at once. Nothing on record is lost.",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 paused, 130 cancelled.",
  ],
  async run(args, output) {
    try {
      return await runTask(args, output)
    } catch (error) {
      if (!asksFor("json", args) || !LonghaulError.is(error)) throw error
      output.printJson(await resultWithoutRun(args, error))
      return error instanceof UsageError ? 2 : exitCodes.failed
    }
  },
}

async function runTask(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = parseCommandLine("run", args, options)
  const file = await readConfig(values, output.complain)
  const settings = inputSettings(values, file)
  const task = await readTask(positionals)
  const guard = guardOf(values)
  const metadata = guardMetadata(guard)
  const opened = await openRuntime(values, file, guard)
  const { limits, ...chosen } = await chosenInput(values, opened)
  const progress = progressFor(output, { json: values.json ?? false, quiet: values.quiet ?? false })

  const handle = opened.runtime.stream({
    task,
    ...settings,
    ...chosen,
    limits: { ...settings.limits, ...limits },
    ...(metadata && { metadata }),
    ...(values["run-id"] !== undefined && { runId: values["run-id"] }),
  })
  const result = await follow(handle, progress, output)
  await opened.runtime.close()

  if (values.json) output.printJson(result)
  else if (values.quiet) printAnswer(result, { formed: values.schema !== undefined }, output)
  else printEnding(result, chosen.cwd ?? opened.workspace, opened.store, output)
  return exitCodes[result.status]
}

async function readTask(positionals: readonly string[]): Promise<string> {
  const given = positionals.length === 1 && positionals[0] === "-" ? await readStdin() : positionals.join(" ")
  if (given.trim() !== "") return given
  throw new UsageError("run needs a task.", `Say what to do: ${invocation()} run "List the files here".`)
}

async function readStdin(): Promise<string> {
  const { text } = await import("node:stream/consumers")
  return (await text(process.stdin)).trim()
}

/** The one kind of result, for a run that could not be started at all. */
async function resultWithoutRun(args: readonly string[], error: LonghaulError): Promise<RunResult> {
  const { failedToBegin } = await import("../../journal/result.ts")
  const { newRunId } = await import("../../lib/id.ts")
  const given = args[args.indexOf("--run-id") + 1]
  const runId = args.includes("--run-id") && given !== undefined ? given : newRunId()
  return failedToBegin({ workspaceId: "default", runId, nodeId: "main" }, "", error)
}
