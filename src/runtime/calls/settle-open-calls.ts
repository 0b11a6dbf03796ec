import type { OpenRun } from "../open-run.ts"
import { notRun, unknown } from "./run-call.ts"

/**
 * Records an outcome for each call that a session left open, before another backend continues: what may have begun is flagged,
 * and never silently repeated.
 */
export async function settleOpenCalls({ projection, journal }: OpenRun): Promise<void> {
  await journal.flush()
  for (const call of projection.openCalls) {
    const outcome = call.intent === undefined ? notRun(call) : unknown(call)
    journal.append({ type: "tool-result", callId: call.callId, outcome, durationMs: 0 })
  }
  if (projection.stepIsOpen) journal.append({ type: "turn-end", turn: projection.turns })
  await journal.flush()
}
