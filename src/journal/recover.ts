import type { RecordBody } from "../contract/event.ts"
import type { ProjectedCall } from "./projected-call.ts"
import type { RunProjection } from "./projection.ts"

/**
 * Returns `unknown` results for calls that the previous owner started without recording a result. They may have taken effect,
 * so they are flagged and never silently run again. Calls without an intent stay open, also those that wait for the answer to their
 * own question, and those for which `keeps` is true, because they are run again or a person is asked.
 */
export function flagUnknown(run: RunProjection, keeps: (call: ProjectedCall) => boolean = () => false): RecordBody[] {
  const flags: RecordBody[] = []
  for (const call of run.calls.values()) {
    if (call.intent === undefined || call.outcome !== undefined || call.question || keeps(call)) continue
    flags.push({
      type: "tool-result",
      callId: call.callId,
      outcome: {
        status: "unknown",
        output: [
          {
            type: "text",
            text: `The process running ${call.name} stopped before its outcome was recorded. It may or may not have happened: check before you try again.`,
          },
        ],
      },
      durationMs: 0,
    })
  }
  return flags
}

/** For a takeover that does not continue the run: the records before it are then visible to readers. */
export const takeAbandoned: RecordBody = {
  type: "warning",
  code: "takeover_abandoned",
  message: "A process that was taking over this run stopped before it could continue it.",
}
