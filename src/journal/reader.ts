import type { RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { Folder } from "../contract/store.ts"
import { shardName } from "./paths.ts"
import { findHead, findTop, type Head, historyOf, type KnownRow, readingAhead, recordsOf, scanCounted } from "./row.ts"
import { claimOf, type KnownShard, type Position, type ShardClaim, scanShard } from "./shard.ts"

/** What a row of shards shows beside its records. */
export interface RowView {
  /** The highest shard seen. */
  readonly top: number
  /** True where a takeover is under way, so that the newest records cannot be told yet. */
  readonly takeoverPending: boolean
  /** Bytes of an unfinished write behind the newest shard. */
  readonly droppedBytes: number
  /** Who wrote the newest records; null where they do not say. */
  readonly owner: JsonObject | null
  /** Another one whenever the run's owner has written anything. */
  readonly mark: string
  /** The head as far as its records were handed out; undefined while a takeover is under way. */
  readonly known: KnownShard | undefined
}

/** Reads a run from outside, never owning it. What it hands out stays a prefix of every later history. */
export interface RunReader extends RowView {
  /** The records that came since the last call. */
  next(): Promise<RunRecord[]>
}

/** A take that came as far as making the top shard, and not to its header. */
export interface Taking {
  /** Null where the shard does not say who made it. */
  readonly claim: ShardClaim | null
}

/** The row as whoever takes it now would find it: to decide on, never to publish, since another may be taking it. */
export interface InspectedRow {
  /** -1 where there is none. */
  readonly top: number
  /** Present where the top shard has no header. */
  readonly taking?: Taking
  /** Null where no shard has a header. */
  readonly row: (RowView & { readonly records: readonly RunRecord[] }) | null
}

/** `known`: what this process has of the row already. Of a row whose head it is, only what is new is read. */
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

export function createReader(folder: Folder): RunReader {
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
      takeoverPending = !(await isFinal(folder, head))
      owner = head.header.owner ?? null
      // What was not handed out is read once more.
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
        // A tombstone begins the row anew.
        .filter(({ seq, type }) => seq > lastSeq || type === "run-remove")
      lastSeq = news.at(-1)?.seq ?? lastSeq
      return news
    },
  }
}

/** Two looks tell that nothing has come since: a follower asks often, and mostly in vain. */
async function isUnchanged(folder: Folder, { shard, validBytes }: KnownShard): Promise<boolean> {
  if (await folder.exists(shardName(shard + 1))) return false
  // A shard that is gone was removed, and other ones may have come that cannot be found by counting up.
  if (!folder.append) return folder.exists(shardName(shard))
  const behind = await folder.append.readFrom(shardName(shard), validBytes)
  return behind?.length === 0
}

/**
 * Of the head only what outlives a power loss and a takeover may be shown: synced first, and nobody has begun to take the
 * run by then.
 */
async function isFinal(folder: Folder, head: Head): Promise<boolean> {
  if (!folder.append) return true
  try {
    await folder.append.sync(shardName(head.shard))
  } catch {
    return false
  }
  return !(await folder.exists(shardName(head.shard + 1)))
}

/**
 * While a takeover is under way even the head may turn out to be a fenced owner's late header. But an owner writes a
 * flush only after the one before it was acknowledged: what has bytes behind it in its shard is history for good.
 */
async function lastCertain(folder: Folder, head: number): Promise<Position | null> {
  for (let shard = head; shard >= 0; shard--) {
    const bytes = await folder.read(shardName(shard))
    const certain = bytes === null ? 0 : scanShard(bytes, undefined, undefined, folder.append?.crc32).certainBytes
    if (certain > 0) return { shard, bytes: certain }
  }
  return null
}
