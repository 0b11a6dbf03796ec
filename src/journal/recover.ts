import type { RecordBody } from "../contract/event.ts"
import type { RunProjection } from "./projection.ts"

/**
 * What a new owner says of calls that its predecessor began and never settled: they may have happened, so they are
 * flagged and never silently run again. Effect `none` and calls without an intent are left to be settled afresh.
 */
export function flagUnknown(run: RunProjection): RecordBody[] {
  const flags: RecordBody[] = []
  for (const call of run.calls.values()) {
    if (call.intent === undefined || call.outcome !== undefined) continue
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
