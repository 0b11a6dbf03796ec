import type { CompactionSettings, OffloadSettings } from "../../contract/compaction.ts"
import type { Tool } from "../../contract/tool.ts"
import type { CheckedCompaction } from "../options/compaction.ts"
import { fetchData } from "./fetch-data.ts"

/** The settings of offloading; undefined if it is off. */
export function offloadSettings(compaction: CheckedCompaction): OffloadSettings | undefined {
  if (compaction === false || !compaction.offload) return undefined
  return compaction.offload === true ? {} : compaction.offload
}

/** True if long results are stored next to the run. */
export function offloads(compaction: CheckedCompaction): boolean {
  return offloadSettings(compaction) !== undefined
}

/** True if the caller turns offloading on when a run is resumed or continued. */
export function asksToOffload(given: CompactionSettings | false | undefined): boolean {
  return given !== undefined && given !== false && Boolean(given.offload)
}

/** True if FetchData is among the allowed tools. */
export function mayFetch(allowed: readonly string[] | undefined, disabled: readonly string[]): boolean {
  return (allowed?.includes(fetchData.name) ?? true) && !disabled.includes(fetchData.name)
}

/**
 * The tools that can be selected. A list of allowed tools may name FetchData even where no results are offloaded; a tool of the
 * host with that name is then meant.
 */
export function withFetchData(
  tools: readonly Tool[],
  isOn: boolean,
  allowed: readonly string[] | undefined,
): readonly Tool[] {
  const isNamed = allowed?.includes(fetchData.name) && tools.every(({ name }) => name !== fetchData.name)
  return isOn || isNamed ? [...tools, fetchData] : tools
}
