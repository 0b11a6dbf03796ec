import type { RunRecord } from "../contract/event.ts"
import type { Folder } from "../contract/store.ts"
import { shardName } from "./paths.ts"
import { findHead, findTop, type Head, recordsOf, scanCounted } from "./row.ts"

/** Reads a run from outside, never owning it. What it hands out stays a prefix of every later history. */
export interface RunReader {
  /** The highest shard seen. */
  readonly top: number
  /** True where a takeover is under way, so that the newest records cannot be told yet. */
  readonly unsettled: boolean
  /** Bytes of an unfinished write behind the newest shard. */
  readonly droppedBytes: number
  /** The records that came since the last call. */
  next(): Promise<RunRecord[]>
}

export function createReader(folder: Folder): RunReader {
  let top = -1
  let unsettled = false
  let droppedBytes = 0
  let lowestOpen = 0
  let lastSeq = -1

  return {
    get top() {
      return top
    },
    get unsettled() {
      return unsettled
    },
    get droppedBytes() {
      return droppedBytes
    },
    async next() {
      top = await findTop(folder, top)
      const head = await findHead(folder, top)
      if (head === null) return []
      // Shards below the head are cut for good. Of the head itself only what outlives a power loss and a takeover may be
      // shown: synced first, and nobody has begun to take the run by then.
      unsettled = !(await isSettled(folder, head))
      droppedBytes = head.droppedBytes
      const parts = unsettled ? [] : [recordsOf(head.scanned, head.header.v)]
      for (let base = head.header.base; base !== null && base.shard >= lowestOpen; ) {
        const scanned = await scanCounted(folder, base)
        parts.push(recordsOf(scanned, scanned.header.v))
        base = scanned.header.base
      }
      lowestOpen = unsettled ? (head.header.base?.shard ?? 0) : head.shard
      const records = parts.reverse().flat()
      const news = records.filter((record) => record.seq > lastSeq)
      lastSeq = news.at(-1)?.seq ?? lastSeq
      return news
    },
  }
}

async function isSettled(folder: Folder, head: Head): Promise<boolean> {
  if (!folder.append) return true
  try {
    await folder.append.sync(shardName(head.shard))
  } catch {
    return false
  }
  return !(await folder.exists(shardName(head.shard + 1)))
}
