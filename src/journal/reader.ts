import type { RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { Folder } from "../contract/store.ts"
import { shardName } from "./paths.ts"
import { findHead, findTop, type Head, historyOf, type KnownRow, readingAhead, recordsOf, scanCounted } from "./row.ts"
import { claimOf, type KnownShard, type Position, type ShardClaim, scanShard } from "./shard.ts"

/** Facts about a row of shards, without its records. */
export interface RowView {
  /** The highest shard seen. */
  readonly top: number
  /** True during a takeover: the newest records are not known yet. */
  readonly takeoverPending: boolean
  /** The number of bytes of an unfinished write at the end of the newest shard. */
  readonly droppedBytes: number
  /** The process that wrote the newest records; null if it is not recorded. */
  readonly owner: JsonObject | null
  /** Changes with every write of the run's owner. */
  readonly mark: string
  /** The part of the head whose records were returned; undefined during a takeover. */
  readonly known: KnownShard | undefined
}

/** Reads a run without owning it. The returned records are a prefix of every later history. */
export interface RunReader extends RowView {
  /** Returns the new records since the last call. */
  next(): Promise<RunRecord[]>
}

/** A take that has created the top shard but not written its header. */
export interface Taking {
  /** Null if the shard does not identify its creator. */
  readonly claim: ShardClaim | null
}

/** The row as a new owner would find it now: for decisions, not for publishing, because a takeover may discard its end. */
export interface InspectedRow {
  /** The highest shard, or -1. */
  readonly top: number
  /** Present if the top shard has no header. */
  readonly taking?: Taking
  /** Null if no shard has a header. */
  readonly row: (RowView & { readonly records: readonly RunRecord[] }) | null
}

/** `known`: the part of the row that this process already has. If its head is unchanged, only new bytes are read. */
export async function readRow(folder: Folder, known?: KnownRow): Promise<InspectedRow> {
  const top = await findTop(folder, known?.head.shard)
  const head = await findHead(folder, top, known?.head)
  const takeoverPending = top > (head?.shard ?? -1)
  const taking = takeoverPending ? { taking: await takingAt(folder, top) } : {}
  if (head === null) return { top, ...taking, row: null }
  const row = {
    top,
    takeoverPending,
    droppedBytes: head.droppedBytes,
    owner: head.header.owner ?? null,
    mark: markOf(top, head),
    known: { ...head, validBytes: head.scanned.validBytes },
    records: await historyOf(folder, head, known),
  }
  return { top, ...taking, row }
}

async function takingAt(folder: Folder, top: number): Promise<Taking> {
  const bytes = await folder.read(shardName(top))
  return { claim: bytes && claimOf(bytes) }
}

function markOf(top: number, { shard, scanned }: Head): string {
  return `${top}:${shard}:${scanned.validBytes}`
}

/** True if the process that created a shard without a header will never write it: it is dead, or known to have given up. */
export type IsVoid = (shard: number, taking: Taking) => boolean | Promise<boolean>

/** On a store that appends, a shard has its claim as soon as it has its name: without one, a power loss took it. */
export function isVoidClaim(
  folder: Folder,
  { claim }: Taking,
  isDead: (owner: JsonObject, isLocal: boolean) => boolean,
): boolean {
  const isLocal = folder.append !== undefined
  if (claim === null) return isLocal
  return claim.owner !== undefined && isDead(claim.owner, isLocal)
}

/** Without `isVoid`, every creator of a shard may be alive. */
export function createReader(folder: Folder, isVoid: IsVoid = () => false): RunReader {
  let top = -1
  let takeoverPending = false
  let droppedBytes = 0
  let owner: JsonObject | null = null
  let mark = ""
  let known: KnownShard | undefined
  let lowestOpen = 0
  let lastSeq = -1

  return {
    get top() {
      return top
    },
    get takeoverPending() {
      return takeoverPending
    },
    get droppedBytes() {
      return droppedBytes
    },
    get owner() {
      return owner
    },
    get mark() {
      return mark
    },
    get known() {
      return known
    },
    async next() {
      if (known && (await isUnchanged(folder, known))) return []
      top = await findTop(folder, top)
      const head = await findHead(folder, top, known)
      if (head === null) return []
      droppedBytes = head.droppedBytes
      takeoverPending = !(await isFinal(folder, head, isVoid))
      owner = head.header.owner ?? null
      // Records that were not returned must be read again.
      known = takeoverPending ? undefined : { ...head, validBytes: head.scanned.validBytes }
      mark = markOf(top, head)
      const certain = takeoverPending ? await lastCertain(folder, head.shard) : null
      const parts = takeoverPending ? [] : [recordsOf(head.scanned, head.header.v)]
      const row = readingAhead(folder)
      for (let below = takeoverPending ? certain : head.header.base; below !== null && below.shard >= lowestOpen; ) {
        const scanned = await scanCounted(row, below)
        parts.push(recordsOf(scanned, scanned.header.v))
        below = scanned.header.base
      }
      lowestOpen = takeoverPending ? (certain?.shard ?? lowestOpen) : head.shard
      const news = parts
        .reverse()
        .flat()
        // A tombstone restarts the numbering.
        .filter(({ seq, type }) => seq > lastSeq || type === "run-remove")
      lastSeq = news.at(-1)?.seq ?? lastSeq
      return news
    },
  }
}

/** Detects with two cheap checks that there are no new records, which is the usual case for a follower. */
async function isUnchanged(folder: Folder, { shard, validBytes }: KnownShard): Promise<boolean> {
  if (await folder.exists(shardName(shard + 1))) return false
  // A deleted shard means that the run was removed; newer shards may exist at higher numbers.
  if (!folder.append) return folder.exists(shardName(shard))
  const behind = await folder.append.readFrom(shardName(shard), validBytes)
  return behind?.length === 0
}

/**
 * True if the records of the head survive a power loss and a takeover, so that they may be published: the shard is synced
 * first, and no process that could still take the run has started to by then. Every later one reads the head after that.
 */
async function isFinal(folder: Folder, head: Head, isVoid: IsVoid): Promise<boolean> {
  if (!folder.append) return true
  try {
    await folder.append.sync(shardName(head.shard))
  } catch {
    return false
  }
  for (let shard = head.shard + 1; await folder.exists(shardName(shard)); shard++) {
    const bytes = await folder.read(shardName(shard))
    if (bytes === null || scanShard(bytes).header !== null) return false
    if (!(await isVoid(shard, { claim: claimOf(bytes) }))) return false
  }
  return true
}

/**
 * During a takeover even the head may turn out to be a late header of a fenced owner. But an owner writes a flush only after
 * the previous one was acknowledged, so a flush that is followed by bytes in its shard is permanent.
 */
async function lastCertain(folder: Folder, head: number): Promise<Position | null> {
  for (let shard = head; shard >= 0; shard--) {
    const bytes = await folder.read(shardName(shard))
    const certain = bytes === null ? 0 : scanShard(bytes, undefined, undefined, folder.append?.crc32).certainBytes
    if (certain > 0) return { shard, bytes: certain }
  }
  return null
}
