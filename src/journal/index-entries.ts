import type { RunSummary } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { crc32 } from "../lib/crc32.ts"
import { isJsonObject } from "../lib/json.ts"

/** A file name in the index of a workspace. Ids contain no `~`, so the parts of a name are unambiguous. */
export type IndexEntry = BegunEntry | ReleasedEntry | RemovedEntry

interface EntryOf {
  readonly runId: string
  readonly nodeId: string
}

/** A run that started at this time, or is about to be created with it. */
interface BegunEntry extends EntryOf {
  readonly kind: "begun"
  readonly startedAt: number
}

/** A run that was paused or had ended when its row had `shards` shards. The file contains its summary. */
export interface ReleasedEntry extends EntryOf {
  readonly kind: "released"
  readonly startedAt: number
  readonly shards: number
  readonly status: ReleasedStatus
  /** True if webhook deliveries may be pending. */
  readonly owes: boolean
}

/** A removed run. Its folder still exists, so without this entry every listing would read it. */
interface RemovedEntry extends EntryOf {
  readonly kind: "removed"
}

type ReleasedStatus = Exclude<RunSummary["status"], "running">

/** The file name of an entry. Names of newer runs sort before those of older ones. */
export function entryName(entry: IndexEntry): string {
  const { runId, nodeId } = entry
  if (entry.kind === "removed") return `~${runId}~${nodeId}`
  const begun = `${timeKey(entry.startedAt)}~${runId}~${nodeId}`
  if (entry.kind === "begun") return begun
  return `${begun}~${entry.shards}~${entry.status}${entry.owes ? "~owes" : ""}`
}

/** Returns null if the name is not an entry. Uses a single pattern, because a listing parses the names of all runs. */
export function parseEntry(name: string): IndexEntry | null {
  const [, time, runId = "", nodeId = "", shards, status, owes] = entryPattern.exec(name) ?? []
  if (runId === "") return null
  if (time === undefined) return shards === undefined ? { kind: "removed", runId, nodeId } : null
  const startedAt = Number.MAX_SAFE_INTEGER - Number.parseInt(time, 36)
  if (startedAt < 0) return null
  if (shards === undefined) return { kind: "begun", runId, nodeId, startedAt }
  // Safe: the pattern allows no other status.
  const released = status as ReleasedStatus
  return {
    kind: "released",
    runId,
    nodeId,
    startedAt,
    shards: Number(shards),
    status: released,
    owes: owes !== undefined,
  }
}

const ID = "([A-Za-z0-9][A-Za-z0-9_-]{0,63})"
const NUMBER = "(0|[1-9]\\d{0,14})"
const entryPattern = new RegExp(`^([0-9a-z]{11})?~${ID}~${ID}(?:~${NUMBER}~(paused|done|failed|cancelled)(~owes)?)?$`)
const markPattern = new RegExp(`^${ID}~${ID}(?:~${NUMBER})?$`)

/** Eleven base-36 digits are enough for every valid time; other values are clamped. */
function timeKey(startedAt: number): string {
  return (Number.MAX_SAFE_INTEGER - indexedTime(startedAt)).toString(36).padStart(11, "0")
}

/** The time by which the index sorts a run. */
export function indexedTime(startedAt: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.trunc(startedAt) || 0))
}

/**
 * A file next to a run's folder, whose name records that the run has a node other than `main`, or that a paused or ended run was
 * taken again. Marks are authoritative like the folder itself: no index entry overrides them.
 */
export interface RunMark extends EntryOf {
  /** The shard at which the run was last taken again. */
  readonly taken?: number
}

export function markName({ runId, nodeId, taken }: RunMark): string {
  return taken === undefined ? `${runId}~${nodeId}` : `${runId}~${nodeId}~${taken}`
}

export function parseMark(name: string): RunMark | null {
  const [, runId = "", nodeId = "", taken] = markPattern.exec(name) ?? []
  return runId === "" ? null : { runId, nodeId, ...(taken !== undefined && { taken: Number(taken) }) }
}

/** The content of a released entry. */
export interface KeptSummary {
  readonly summary: RunSummary
  /** The number of valid bytes in the last shard. */
  readonly bytes: number
  /** The mark of the owner that released the run, if it wrote one. */
  readonly taken?: number
}

export function encodeSummary(kept: KeptSummary): Uint8Array {
  const json = new TextEncoder().encode(`${JSON.stringify(kept)}\n`)
  const sum = new TextEncoder().encode(`${crc32(json).toString(16)}\n`)
  const bytes = new Uint8Array(json.length + sum.length)
  bytes.set(json)
  bytes.set(sum, json.length)
  return bytes
}

/** Returns null if the bytes are incomplete or do not belong to the run in the file name. */
export function decodeSummary(bytes: Uint8Array, entry: ReleasedEntry): KeptSummary | null {
  const end = bytes.indexOf(LINE_FEED) + 1
  const sum = `${crc32(bytes, 0, end).toString(16)}\n`
  if (end === 0 || new TextDecoder().decode(bytes.subarray(end)) !== sum) return null
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)))
  if (!isJsonObject(value) || !isJsonObject(value.summary)) return null
  // Safe: the checksum proves that `encodeSummary` wrote it.
  const kept = value as unknown as KeptSummary
  const { runId, nodeId, status, startedAt } = kept.summary
  const isOf = runId === entry.runId && nodeId === entry.nodeId && status === entry.status
  return isOf && indexedTime(startedAt) === entry.startedAt ? kept : null
}

const LINE_FEED = 10

/** A key for maps of nodes. */
export function nodeName({ runId, nodeId }: Pick<RunKey, "runId" | "nodeId">): string {
  return `${runId}~${nodeId}`
}
