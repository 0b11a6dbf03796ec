import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"

/** The current version in headers. Journals of all older versions stay readable. */
export const SCHEMA_VERSION = 2

/**
 * `steps[n]` converts a record of version n to version n + 1. Still empty, because version 2 changed only headers.
 */
export type UpgradeSteps = Readonly<Record<number, (record: JsonObject) => JsonObject>>

const steps: UpgradeSteps = {}

/** Converts the lines of a shard to records of the current version. */
export function upgradeRecords(lines: readonly JsonObject[], version: number): readonly RunRecord[] {
  // Nearly all shards have the current version, and may have very many lines.
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
  // Safe: the crc proves that this package wrote the line, and it was upgraded to the current version.
  return record as unknown as RunRecord
}
