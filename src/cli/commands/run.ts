import { LonghaulError } from "../../contract/error.ts"
import type { RunResult, ToolCallRecord } from "../../contract/result.ts"
import type { RunHandle } from "../../contract/run.ts"
import { guardMetadata, guardOf, guardOptions } from "../approval/gate.ts"
import { askAtTerminal, decidedInline } from "../approval/inline-approval.ts"
import { asksFor, type Command, commonOptions, parseCommandLine, storeOption, UsageError } from "../arguments.ts"
import { configOptions, readConfig } from "../config/file.ts"
import { debugLogger } from "../debug-log.ts"
import { follow, printsJson, progressFor, watchOptions } from "../follow.ts"
import type { Output } from "../output.ts"
import { exitCodes, printAnswer, printOutcome } from "../print-result.ts"
import { repeatedOptions } from "../repeated-options.ts"
import { extensionOptions } from "../run-extensions.ts"
import { chosenInput, inputOptions, startNotes, startOptions } from "../run-options.ts"
import { inputSettings, openRuntime, requireModel } from "../run-settings.ts"
import { readTask } from "../task-input.ts"

const options = {
  ...startOptions,
  ...inputOptions,
  ...extensionOptions,
  ...guardOptions,
  "run-id": { type: "string", value: "<id>", help: "Id of the run. Default: a new one." },
  ...storeOption,
  ...configOptions,
  quiet: { type: "boolean", help: "Print only the answer." },
  ...watchOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Run a task to completion. Piped input is appended to the task; a task of - is read from stdin alone.",
  usage: "[options] <task…>",
  options,
  notes: [
    ...startNotes,
    "On a terminal, --ask shows the change or command and asks; elsewhere the run pauses.",
    "Press Ctrl-C to stop after the current step; press it again to stop immediately. Recorded steps are never lost.",
    "Exit codes: 0 done, 1 failed, 2 usage error, 3 paused, 130 cancelled.",
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
  const task = await readTask(positionals, output)
  const guard = guardOf(values)
  const metadata = guardMetadata(guard)
  const opened = await openRuntime(values, file, guard, {
    logger: values.debug ? debugLogger(output) : undefined,
    complain: output.complain,
  })
  const { limits, ...chosen } = await chosenInput(values, opened)
  await requireModel(values, file)
  const cwd = chosen.cwd ?? opened.workspace
  const json = printsJson(values)
  const ask = askAtTerminal(output, { ...opened, cwd, machine: json })
  const show = (handle: RunHandle, open: readonly ToolCallRecord[] = []) =>
    follow(handle, progressFor(output, { ...values, open }), output)

  const handle = opened.runtime.stream({
    task,
    ...settings,
    ...chosen,
    limits: { ...settings.limits, ...limits },
    ...(metadata && { metadata }),
    ...(values["run-id"] !== undefined && { runId: values["run-id"] }),
  })
  const result = await decidedInline(await show(handle), opened.runtime, ask, show)
  await opened.runtime.close()

  if (json) output.printJson(result)
  else if (values.quiet) printAnswer(result, { formed: values.schema !== undefined }, output)
  else printOutcome(result, cwd, repeatedOptions(values, opened.store), output)
  return exitCodes[result.status]
}

/** The result of a run that could not be started, in the shape of every other result. */
async function resultWithoutRun(args: readonly string[], error: LonghaulError): Promise<RunResult> {
  const { failedToBegin } = await import("../../journal/result.ts")
  const { newRunId } = await import("../../lib/id.ts")
  const given = (option: string) => (args.includes(option) ? args[args.indexOf(option) + 1] : undefined)
  const workspaceId = given("--workspace-id") ?? "default"
  return failedToBegin({ workspaceId, runId: given("--run-id") ?? newRunId(), nodeId: "main" }, "", error)
}
