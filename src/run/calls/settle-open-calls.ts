import type { ToolOutcome } from "../../contract/tool.ts"
import type { ProjectedCall } from "../../journal/projected-call.ts"
import type { RunProjection } from "../../journal/projection.ts"
import type { OpenRun } from "../state/open-run.ts"
import { notRun, toBeRepeated, unknown } from "./outcomes.ts"

/**
 * Records an outcome for each call that a session left open, before another session continues: what may have begun is flagged,
 * and never silently repeated.
 */
export async function settleOpenCalls({ projection, journal }: OpenRun): Promise<void> {
  await journal.flush()
  for (const call of projection.openCalls) {
    const outcome = outcomeOf(call, projection)
    journal.append({ type: "tool-result", callId: call.callId, outcome, durationMs: 0 })
  }
  if (projection.stepIsOpen) journal.append({ type: "turn-end", turn: projection.turns })
  await journal.flush()
}

function outcomeOf(call: ProjectedCall, { ask }: RunProjection): ToolOutcome {
  if (call.intent !== undefined && !call.question) return unknown(call)
  const isApproved = ask?.request.callId === call.callId && ask.decision?.decision === "approve"
  return isApproved ? toBeRepeated(call) : notRun(call)
}
