import type { RecordBody } from "../contract/event.ts"
import type { ProjectedCall, RunProjection } from "./projection.ts"

/**
 * What a new owner says of calls that its predecessor began and never settled: they may have happened, so they are
 * flagged and never silently run again. Left open are calls without an intent, and those that `keeps` says will be run
 * again or asked about.
 */
export function flagUnknown(run: RunProjection, keeps: (call: ProjectedCall) => boolean = () => false): RecordBody[] {
  const flags: RecordBody[] = []
  for (const call of run.calls.values()) {
    if (call.intent === undefined || call.outcome !== undefined || keeps(call)) continue
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
