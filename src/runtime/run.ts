import { LonghaulError } from "../contract/error.ts"
import type { RunResult } from "../contract/result.ts"
import type { RunInput } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { resultWithout } from "../journal/result.ts"
import { onAbort } from "../lib/abort.ts"
import { choose } from "./choose.ts"
import { closeRun } from "./close-run.ts"
import type { ResolvedConfig } from "./config.ts"
import type { RunControls } from "./controls.ts"
import { drive } from "./drive.ts"
import { RunHooks } from "./hooks.ts"
import { type CheckedInput, checkInput } from "./input.ts"
import { Ledger } from "./ledger.ts"
import { type OpenRun, openRun } from "./open-run.ts"
import { prepare } from "./prepare.ts"
import type { Publisher } from "./publisher.ts"

/** One run, from its input to its result. Resolves for every ending. `ledger`: shared with others. */
export async function executeRun(
  config: ResolvedConfig,
  key: RunKey,
  input: RunInput,
  publisher: Publisher,
  controls: RunControls,
  ledger?: Ledger,
): Promise<RunResult> {
  const { logger } = config
  const { runId, nodeId } = key
  logger?.info?.("A run starts.", { runId, nodeId })
  const result = await openAndDrive(config, key, input, publisher, controls, ledger)
  if (config.hooks.postRun) {
    // The run's journal is closed: what goes wrong from here on can only be logged.
    const hooks = new RunHooks(config.hooks, { runId, nodeId, signal: controls.signal }, (slot, kind) =>
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
  input: RunInput,
  publisher: Publisher,
  controls: RunControls,
  ledger: Ledger | undefined,
): Promise<RunResult> {
  let run: OpenRun
  try {
    const checked: CheckedInput = await checkInput(config, key, input)
    run = await openRun(config, key, checked, publisher, controls, ledger ?? new Ledger(checked.limits))
  } catch (error) {
    if (!LonghaulError.is(error)) throw error
    return resultWithout("failed", key, error, config.store.location)
  }
  const unlink = onAbort(input.signal, () => controls.stop({ kind: "cancel" }, "immediate"))
  try {
    const backend = choose(config, run)
    return await closeRun(run, await drive(config, run, backend, prepare(run)))
  } finally {
    unlink()
  }
}
