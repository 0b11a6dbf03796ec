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
import { checkInput } from "./input.ts"
import { type OpenRun, openRun } from "./open-run.ts"
import { prepare } from "./prepare.ts"
import type { Publisher } from "./publisher.ts"

/** One run, from its input to its result. Resolves for every ending. */
export async function executeRun(
  config: ResolvedConfig,
  key: RunKey,
  input: RunInput,
  publisher: Publisher,
  controls: RunControls,
): Promise<RunResult> {
  let run: OpenRun
  try {
    run = await openRun(config, key, checkInput(config, key, input), publisher, controls)
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
