import { LonghaulError } from "../contract/error.ts"
import type { RunResult } from "../contract/result.ts"
import type { RunInput } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { runExists } from "../journal/journal.ts"
import { runPath } from "../journal/paths.ts"
import { type IsVoid, readRow } from "../journal/reader.ts"
import { failedToBegin } from "../journal/result.ts"
import { enterReleased } from "../runs/run-index.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { redactFailure } from "../settings/config/secrets.ts"
import { type CheckedInput, checkInput } from "../settings/input/input.ts"
import { attempt } from "./attempts.ts"
import { closeRun } from "./close-run.ts"
import { OpenExtensions } from "./extensions/open-extensions.ts"
import { newRun, openRun } from "./open/open-run.ts"
import { handoverProblem } from "./session/handover.ts"
import type { RunControls } from "./state/controls.ts"
import { RunHooks } from "./state/hooks.ts"
import { recordWaitingMessages } from "./state/monitor-runs.ts"
import type { OpenRun, RunContext } from "./state/open-run.ts"
import type { Opening } from "./state/opening.ts"

import type { RunStop } from "./state/stops.ts"

/** Prepares a new run. */
export async function beginning(
  config: ResolvedConfig,
  key: RunKey,
  input: RunInput,
  isAbandoned: IsVoid,
): Promise<Opening> {
  const checked = await checkInput(config, key, input)
  return input.runId === undefined ? newRun(config, key, checked) : chosenRun(config, key, checked, isAbandoned)
}

/** Prepares a new run under a chosen id. Rejects with `run_active` if the id is in use. */
export async function chosenRun(
  config: ResolvedConfig,
  key: RunKey,
  checked: CheckedInput,
  isAbandoned: IsVoid,
): Promise<Opening> {
  const { top, taking, row } = await readRow(config.store.folder(runPath(key)))
  if (row !== null || (taking && !(await isAbandoned(top, taking)))) throw runExists()
  return newRun(config, key, checked, taking && top)
}

/** Opens a run and executes it. Resolves with a result, however the run ends. */
export async function executeRun(
  config: ResolvedConfig,
  key: RunKey,
  open: () => Promise<Opening>,
  context: RunContext,
): Promise<RunResult> {
  const { controls } = context
  try {
    const result = await openAndDrive(config, key, open, context)
    // The end of an agent is not the end of the run.
    if (key.agent === undefined) await afterRun(config, key, controls, result)
    return result
  } finally {
    controls.stopClock()
  }
}

async function afterRun(
  { logger, hooks }: ResolvedConfig,
  { runId, nodeId }: RunKey,
  controls: RunControls,
  result: RunResult,
): Promise<void> {
  const run = { runId, nodeId }
  if (hooks.postRun) {
    const { signal, release } = patience(controls)
    // The journal is closed, so later failures can only be logged.
    const failed = (slot: string, error: string) => logger?.warn(`The hook ${slot} failed.`, { ...run, error })
    await new RunHooks(hooks, { ...run, signal }, failed).call("postRun", (hook) => hook.postRun?.(result))
    if (signal.aborted) logger?.warn("The hook postRun did not return in time.", run)
    release()
  }
  const { status, turns, durationMs, error } = result
  logger?.info?.("A run ended.", { ...run, status, turns, durationMs, ...(error && { code: error.code }) })
}

/** Limits the wait for `postRun`: until the run is cancelled or times out, or for a grace period if it already was. */
function patience({ signal }: RunControls): { readonly signal: AbortSignal; release(): void } {
  if (!signal.aborted) return { signal, release: () => {} }
  const grace = new AbortController()
  const timer = setTimeout(() => grace.abort(), POST_RUN_GRACE_MS)
  return { signal: grace.signal, release: () => clearTimeout(timer) }
}

const POST_RUN_GRACE_MS = 5_000

function redacted(config: ResolvedConfig, key: RunKey, error: LonghaulError): LonghaulError {
  const failure = redactFailure(config.redactorOf([], {}, key), error.toJSON())
  return new LonghaulError(failure.code, failure.message, failure)
}

async function openAndDrive(
  config: ResolvedConfig,
  key: RunKey,
  open: () => Promise<Opening>,
  context: RunContext,
): Promise<RunResult> {
  const { controls } = context
  const { runId, nodeId, agent } = key
  config.logger?.info?.(agent ? "An agent starts." : "A run starts.", { runId, nodeId, ...(agent && { agent }) })
  let opening: Opening
  let run: OpenRun
  try {
    const planned = await open()
    ;({ run, opening } = await openRun(config, key, planned, context))
    // An agent can be sent messages while it waits for its slot.
    if (!opening.isNew || agent !== undefined) await recordWaitingMessages(run)
  } catch (error) {
    if (!LonghaulError.is(error)) throw error
    return failedToBegin(key, config.store.location, redacted(config, key, error))
  }
  const extensions = new OpenExtensions(run)
  const { agents } = run.input
  if (agents) run.agents = (await import("./agents/spawn.ts")).agentsOf(run, agents)
  const ended = context.opened(run)
  const { timeMs } = run.input.limits
  if (timeMs !== undefined) controls.startClock(timeMs, run.projection.activeMs)
  let known: RunResult | undefined
  try {
    const stop = (await extensions.open(opening.isNew)) ?? (await work(run, opening))
    const result = await closeRun(run, (await run.agents?.background.finish(stop)) ?? stop)
    if (controls.cause?.kind !== "lost") {
      known = result
      await enterEnded(run, opening)
    }
    return result
  } finally {
    await extensions.close(known)
    await ended()
  }
}

async function work(run: OpenRun, opening: Opening): Promise<RunStop> {
  return (opening.isNew ? undefined : await resumeWork(run, opening)) ?? (await attempt(run))
}

/** Resumes a run where it stopped. Returns a stop if the run needs no further model call. */
async function resumeWork(run: OpenRun, opening: Opening): Promise<RunStop | undefined> {
  const problem = await handoverProblem(run)
  if (problem !== undefined) {
    return { reason: "suspended", pause: { kind: "handover", text: problem } }
  }
  await run.agents?.background.resume()
  const { finishOpenCalls } = await import("./calls/finish-open-calls.ts")
  return finishOpenCalls(run, opening)
}

function enterEnded({ config, key, projection, journal }: OpenRun, { found }: Opening): Promise<void> {
  const { shard, head } = journal
  const owes = projection.hasWebhooks
  return enterReleased(config, key, {
    projection,
    shard,
    bytes: head.validBytes,
    owes,
    taken: found && found.top + 1,
  })
}
