import type { RunRecord } from "../contract/event.ts"

/** A record as listeners get it: without what a tool keeps for itself. */
export function published(record: RunRecord): RunRecord {
  if (record.type !== "tool-question") return record
  const { state: _, ...rest } = record
  return rest
}
