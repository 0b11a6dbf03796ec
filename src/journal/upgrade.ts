import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"

/** The version that headers carry today. What older versions wrote is read for ever. */
export const SCHEMA_VERSION = 2

/**
 * `steps[n]` turns a record of version n into one of version n + 1. Grows with the first change of a record: version 2
 * changed headers alone.
 */
export type UpgradeSteps = Readonly<Record<number, (record: JsonObject) => JsonObject>>

const steps: UpgradeSteps = {}

/** A shard's lines as records of today. */
export function upgradeRecords(lines: readonly JsonObject[], version: number): readonly RunRecord[] {
  // Nearly all are of today already, and there may be very many.
  if (version === SCHEMA_VERSION) return lines as unknown as readonly RunRecord[]
  return lines.map((line) => upgradeRecord(line, version))
}

export function upgradeRecord(
  line: JsonObject,
  version: number,
  target: number = SCHEMA_VERSION,
  known: UpgradeSteps = steps,
): RunRecord {
  if (version > target) {
    throw new LonghaulError("storage", `This run was written by a newer longhaul (journal version ${version}).`, {
      retryable: false,
      fix: "Upgrade longhaul to read it.",
    })
  }
  let record = line
  for (let from = version; from < target; from++) record = known[from]?.(record) ?? record
  // The line was written by this package, vouched for by its flush's crc, and brought to the current version.
  return record as unknown as RunRecord
}
