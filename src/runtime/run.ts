import { LonghaulError } from "../contract/error.ts"
import type { RunResult } from "../contract/result.ts"
import type { RunInput } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { runExists } from "../journal/journal.ts"
import { runPath } from "../journal/paths.ts"
import { readRow } from "../journal/reader.ts"
import { resultWithout } from "../journal/result.ts"
import { onAbort } from "../lib/abort.ts"
import { choose } from "./choose.ts"
import { closeRun } from "./close-run.ts"
import type { ResolvedConfig } from "./config.ts"
import type { RunControls } from "./controls.ts"
import { drive } from "./drive.ts"
import { RunHooks } from "./hooks.ts"
import { checkInput } from "./input.ts"
import type { Ledger } from "./ledger.ts"
import { newRun, type Opening, type OpenRun, openRun } from "./open-run.ts"
import { prepare } from "./prepare.ts"
import type { Publisher } from "./publisher.ts"
import { settleOpen } from "./settle-open.ts"
import { hearWaiting } from "./tend-runs.ts"

/** What a run is driven with. */
export interface Seat {
  readonly publisher: Publisher
  readonly controls: RunControls
  /** Cancels it. */
  readonly signal?: AbortSignal
  /** Shared with others. */
  readonly ledger?: Ledger
  /** It is ours and its beginning is durable. Answers what to do when it is over. */
  opened(run: OpenRun): () => Promise<void>
}

/** How a new run is opened. */
export async function beginning(
  config: ResolvedConfig,
  key: RunKey,
  input: RunInput,
  isAbandoned: (top: number) => boolean,
): Promise<Opening> {
  const checked = await checkInput(config, key, input)
  if (input.runId === undefined) return newRun(config, key, checked)
  // A name that somebody chose may be taken, also by a run whose first shard was removed or never begun with.
  const { top, row } = await readRow(config.store.folder(runPath(key)))
  if (row !== null || (top >= 0 && !isAbandoned(top))) throw runExists()
  return newRun(config, key, checked, top < 0 ? undefined : top)
}

/** One run, from how it is opened to its result. Resolves for every ending. */
export function executeRun(
  config: ResolvedConfig,
  key: RunKey,
  opening: () => Promise<Opening>,
  seat: Seat,
): Promise<RunResult> {
  const running = openAndDrive(config, key, opening, seat)
  return config.logger || config.hooks.postRun ? running.then((result) => afterRun(config, key, seat, result)) : running
}

async function afterRun(
  { logger, hooks: given }: ResolvedConfig,
  { runId, nodeId }: RunKey,
  { controls }: Seat,
  result: RunResult,
): Promise<RunResult> {
  if (given.postRun) {
    // The run's journal is closed: what goes wrong from here on can only be logged.
    const hooks = new RunHooks(given, { runId, nodeId, signal: controls.signal }, (slot, kind) =>
      logger?.warn(`The hook ${slot} failed.`, { runId, nodeId, error: kind }),
    )
    await hooks.call("postRun", (hook) => hook.postRun?.(result))
  }
  const { status, turns, durationMs, error } = result
  logger?.info?.("A run ended.", { runId, nodeId, status, turns, durationMs, ...(error && { code: error.code }) })
  return result
}

async function openAndDrive(
  config: ResolvedConfig,
  key: RunKey,
  open: () => Promise<Opening>,
  { publisher, controls, signal, ledger, opened }: Seat,
): Promise<RunResult> {
  const { runId, nodeId } = key
  config.logger?.info?.("A run starts.", { runId, nodeId })
  let opening: Opening
  let run: OpenRun
  try {
    opening = await open()
    run = await openRun(config, key, opening, publisher, controls, ledger)
    if (!opening.isNew) await hearWaiting(run)
  } catch (error) {
    if (!LonghaulError.is(error)) throw error
    return resultWithout("failed", key, error, config.store.location)
  }
  const ended = opened(run)
  const unlink = onAbort(signal, () => controls.stop({ kind: "cancel" }, "immediate"))
  try {
    const stop = opening.isNew ? undefined : await settleOpen(config, run, opening)
    return await closeRun(run, stop ?? (await drive(config, run, choose(config, run), prepare(run))))
  } finally {
    unlink()
    await ended()
  }
}
