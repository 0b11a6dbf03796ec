import { resolve } from "node:path"
import type { RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { RunResult, ToolCallRecord } from "../contract/result.ts"
import type { ResumeInput, RunHandle, RunReference } from "../contract/run.ts"
import type { RunState, Runtime } from "../contract/runtime.ts"
import { delay } from "../lib/abort.ts"
import { type GuardChoice, guardOf, guardOptions, recordedGuard } from "./approval/gate.ts"
import { askAtTerminal, decidedInline, openCalls } from "./approval/inline-approval.ts"
import { commonOptions, nodeOption, type OptionTable, storeOption } from "./arguments.ts"
import { configOptions, readConfig } from "./config/file.ts"
import { debugLogger } from "./debug-log.ts"
import { openExchange } from "./exchanges.ts"
import { follow, printsJson, progressFor, type WatchChoice, watchOptions } from "./follow.ts"
import type { Output } from "./output.ts"
import { exitCodes, printAnswer, printOutcome } from "./print-result.ts"
import { findRunId, type OpenStore, openStore, requireNamedStore, runNotFound } from "./read-store.ts"
import { type Repeated, repeatedOptions } from "./repeated-options.ts"
import { recordedExtensions } from "./run-extensions.ts"
import { startOptions } from "./run-options.ts"
import { inputSettings, openRuntime, type RunChoice } from "./run-settings.ts"
import { startWorkspace } from "./start-folder.ts"

const { workspace, model, backend, "max-turns": maxTurns, "mcp-config": mcpConfig } = startOptions

/** Options of every command that resumes a run. */
export const resumeOptions = {
  workspace: { ...workspace, help: "Folder that the tools work in. Default: where the run was started." },
  model: { ...model, help: "Use another model from here on. Default: the run's own." },
  backend: { ...backend, help: "Continue on another backend. Default: the run's own." },
  "mcp-config": { ...mcpConfig, help: "File with the run's MCP servers. Its programs are started." },
  "max-turns": maxTurns,
  timeout: { type: "string", value: "<seconds>", help: "Time limit from here on." },
  takeover: { type: "boolean", help: "Take the run from a process that may be alive." },
  ...guardOptions,
  ...nodeOption,
  ...storeOption,
  ...configOptions,
  quiet: { type: "boolean", help: "Print only the answer." },
  ...watchOptions,
  ...commonOptions,
} as const satisfies OptionTable

export interface ResumeChoice extends RunChoice, GuardChoice, WatchChoice {
  readonly config?: string
  readonly "no-config"?: boolean
  readonly node?: string
  readonly takeover?: boolean
}

/** The current state of a run and its run-start; for a conversation, of its last exchange. */
export interface FoundRun {
  readonly opened: OpenStore
  readonly state: RunState
  readonly start: RunStart | undefined
}

export type RunStart = RunRecord & { readonly type: "run-start" }

export async function findRun(choice: ResumeChoice, given: string, output: Output): Promise<FoundRun> {
  const opened = await openStore(choice, output)
  requireNamedStore("continuing a run", opened)
  const runId = await findRunId(opened, given)
  const nodeId = await openExchange(opened, runId, choice.node)
  const state = await opened.runtime.status(runId, nodeId)
  if (state.status === "not_found") throw runNotFound(runId, opened.store.location)
  return { opened, state, start: await startOf(opened.runtime, state) }
}

/** The run-start of a run. */
export async function startOf(runtime: Runtime, { runId, nodeId }: RunReference): Promise<RunStart | undefined> {
  for await (const record of runtime.events(runId, { nodeId })) return record.type === "run-start" ? record : undefined
  return undefined
}

/** Resumes a run in this process and shows it until it ends or pauses. */
export async function resumeAndShow(
  choice: ResumeChoice,
  { opened: found, state, start }: FoundRun,
  given: Pick<ResumeInput, "decision" | "answer" | "args" | "ticket">,
  output: Output,
): Promise<number> {
  // If the config file was already read for the store, its warnings were already printed.
  const file = await readConfig(choice, choice.store === undefined ? () => {} : output.complain)
  const began = start?.input
  // Safe: metadata was checked to be JSON when the run began.
  const guard = guardOf(choice, recordedGuard(began?.metadata as JsonObject | undefined))
  const from = choice.workspace ?? (began && startWorkspace(began))
  const own = choice.backend ?? began?.backend
  // The model of one backend means nothing to another.
  const named = choice.model ?? (own === began?.backend ? recordedModel(began?.model) : undefined)
  const runtimeChoice = {
    ...choice,
    ...(await recordedExtensions(found.runtime, state)),
    ...(from !== undefined && { workspace: from }),
    ...(named && { model: named }),
    ...(own !== undefined && own !== "native" && { backend: own }),
  }
  const opened = await openRuntime(runtimeChoice, file, guard, {
    logger: choice.debug ? debugLogger(output) : undefined,
    complain: output.complain,
  })
  const cwd = resolve(opened.workspace, began?.cwd ?? ".")
  const ask = askAtTerminal(output, { ...opened, cwd, machine: printsJson(choice) })
  const show = (handle: RunHandle, open: readonly ToolCallRecord[]) =>
    follow(handle, progressFor(output, { ...choice, open }), output)

  // The config file was already applied when the run began.
  const { limits = {} } = inputSettings(choice, undefined)
  const resumed = {
    runId: state.runId,
    nodeId: state.nodeId,
    ...(choice.takeover && { takeover: true }),
    ...(choice.backend !== undefined && { backend: choice.backend }),
    ...(Object.keys(limits).length > 0 && { limits }),
  }

  let decision: typeof given | undefined = given
  let result: RunResult
  if (state.pause?.pendingToolCall && ask && Object.keys(given).length === 0) decision = await ask(state)
  if (state.status === "paused" && decision === undefined) result = state
  else {
    const resume = (handle: RunHandle) => show(handle, openCalls(state.toolCalls))
    const first = await untilFree(opened.runtime, { ...resumed, ...decision }, resume, output)
    result = await decidedInline(first, opened.runtime, ask, show)
  }
  await opened.runtime.close()
  printResult(result, choice, { cwd, options: repeatedOptions(choice, opened.store, { isResumed: true }) }, output)
  return exitCodes[result.status]
}

/** Watches a run whose owner may be alive for one lease, and takes it over if the owner shows no sign of life. */
async function untilFree(
  runtime: Runtime,
  resumed: ResumeInput,
  show: (handle: RunHandle) => Promise<RunResult>,
  output: Output,
): Promise<RunResult> {
  const started = performance.now()
  for (;;) {
    const result = await show(runtime.resumeStream(resumed))
    const isWatched = result.error?.code === "run_active" && performance.now() - started < WATCHED_MS
    if (!isWatched) return result
    if (performance.now() - started < LOOK_MS) {
      output.complain(
        "Another process may own this run: watching it for a minute. Use --takeover to take it immediately.",
      )
    }
    await delay(LOOK_MS)
  }
}

/** Slightly longer than a lease. */
const WATCHED_MS = 65_000
const LOOK_MS = 5000

function printResult(
  result: RunResult,
  choice: ResumeChoice,
  { cwd, options }: { readonly cwd: string; readonly options: Repeated },
  output: Output,
): void {
  if (printsJson(choice)) output.printJson(result)
  else if (choice.quiet) printAnswer(result, { formed: false }, output)
  else printOutcome(result, cwd, options, output)
}

/** The offline model has no provider. */
export function recordedModel(model: string | undefined): string | undefined {
  return model === "offline:offline" ? "offline" : model
}
