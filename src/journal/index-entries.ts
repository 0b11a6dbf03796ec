import type { RunSummary } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { crc32 } from "../lib/crc32.ts"
import { isJsonObject } from "../lib/json.ts"

/** One name in the index of a workspace. Ids hold no `~`, so the parts of a name cannot run into each other. */
export type IndexEntry = BegunEntry | ReleasedEntry | RemovedEntry

interface EntryOf {
  readonly runId: string
  readonly nodeId: string
}

/** There is, or soon will be, a run that began at this time. */
interface BegunEntry extends EntryOf {
  readonly kind: "begun"
  readonly startedAt: number
}

/** The run was paused or had ended when its row had `shards` shards. The file holds its summary. */
export interface ReleasedEntry extends EntryOf {
  readonly kind: "released"
  readonly startedAt: number
  readonly shards: number
  readonly status: ReleasedStatus
  /** Its webhooks may still have something to deliver. */
  readonly owes: boolean
}

/** The run was removed. Its folder keeps its name, so a listing would look for it each time. */
interface RemovedEntry extends EntryOf {
  readonly kind: "removed"
}

type ReleasedStatus = Exclude<RunSummary["status"], "running">

/** The name of an entry. Names of older runs sort behind those of newer ones. */
export function entryName(entry: IndexEntry): string {
  const { runId, nodeId } = entry
  if (entry.kind === "removed") return `~${runId}~${nodeId}`
  const begun = `${timeKey(entry.startedAt)}~${runId}~${nodeId}`
  if (entry.kind === "begun") return begun
  return `${begun}~${entry.shards}~${entry.status}${entry.owes ? "~owes" : ""}`
}

/** Null for a name that is no entry. One pattern and nothing else: a list of many runs parses the names of all. */
export function parseEntry(name: string): IndexEntry | null {
  const [, time, runId = "", nodeId = "", shards, status, owes] = entryPattern.exec(name) ?? []
  if (runId === "") return null
  if (time === undefined) return shards === undefined ? { kind: "removed", runId, nodeId } : null
  const startedAt = Number.MAX_SAFE_INTEGER - Number.parseInt(time, 36)
  if (startedAt < 0) return null
  if (shards === undefined) return { kind: "begun", runId, nodeId, startedAt }
  // Safe: the pattern has no other status.
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

/** Eleven digits hold every time; what no clock shows is kept within them. */
function timeKey(startedAt: number): string {
  return (Number.MAX_SAFE_INTEGER - indexedTime(startedAt)).toString(36).padStart(11, "0")
}

/** The time by which the index sorts a run. */
export function indexedTime(startedAt: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.trunc(startedAt) || 0))
}

/**
 * A name beside a run's folder, for what the folder's own name does not say: that the run has a node other than `main`, or that a
 * run which was paused or over was taken again. It is part of the run like the folder itself: nothing in the index counts
 * against it.
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
  /** How many bytes of the last shard count. */
  readonly bytes: number
  /** The mark of the owner that released the run, where it had one. */
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

/** Null where the bytes are not whole, or are of another run than their name says. */
export function decodeSummary(bytes: Uint8Array, entry: ReleasedEntry): KeptSummary | null {
  const end = bytes.indexOf(LINE_FEED) + 1
  const sum = `${crc32(bytes, 0, end).toString(16)}\n`
  if (end === 0 || new TextDecoder().decode(bytes.subarray(end)) !== sum) return null
  // Safe: its checksum says that it is what `encodeSummary` wrote.
  const kept = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as KeptSummary
  const { summary } = kept
  if (!isJsonObject(summary)) return null
  const { runId, nodeId, status, startedAt } = summary
  const isOf = runId === entry.runId && nodeId === entry.nodeId && status === entry.status
  return isOf && indexedTime(startedAt) === entry.startedAt ? kept : null
}

const LINE_FEED = 10

/** Names one node of a run in a table. */
export function nodeName({ runId, nodeId }: Pick<RunKey, "runId" | "nodeId">): string {
  return `${runId}~${nodeId}`
}
