import type { RunSummary } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { crc32 } from "../lib/crc32.ts"
import { isId } from "../lib/id.ts"
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

/** Null for a name that is no entry. */
export function parseEntry(name: string): IndexEntry | null {
  const [time = "", runId = "", nodeId = "", shards, status, owes, ...more] = name.split("~")
  if (!isId(runId) || !isId(nodeId) || more.length > 0) return null
  const entry = toEntry(time, { runId, nodeId }, shards, status, owes)
  return entry && entryName(entry) === name ? entry : null
}

function toEntry(
  time: string,
  run: EntryOf,
  shards: string | undefined,
  status: string | undefined,
  owes: string | undefined,
): IndexEntry | null {
  if (time === "") return { kind: "removed", ...run }
  const startedAt = Number.MAX_SAFE_INTEGER - Number.parseInt(time, 36)
  if (shards === undefined) return { kind: "begun", ...run, startedAt }
  if (!isReleased(status) || wholeNumber(shards) < 0) return null
  return { kind: "released", ...run, startedAt, shards: wholeNumber(shards), status, owes: owes !== undefined }
}

/** -1 for what is none: no name is made of it. */
function wholeNumber(digits: string): number {
  return /^\d{1,15}$/.test(digits) ? Number(digits) : -1
}

function isReleased(status: string | undefined): status is ReleasedStatus {
  return status === "paused" || status === "done" || status === "failed" || status === "cancelled"
}

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
  const [runId = "", nodeId = "", digits] = name.split("~")
  if (!isId(runId) || !isId(nodeId)) return null
  const mark = { runId, nodeId, ...(digits !== undefined && { taken: wholeNumber(digits) }) }
  return mark.taken !== -1 && markName(mark) === name ? mark : null
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
