import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { Folder } from "../contract/store.ts"
import { shardIndex, shardName } from "./paths.ts"
import { type KnownShard, type Position, type ScannedShard, type ShardHeader, scanShard } from "./shard.ts"
import { upgradeRecords } from "./upgrade.ts"

/** The highest shard of a row that has a header, and its content. */
export interface Head {
  readonly shard: number
  readonly header: ShardHeader
  readonly scanned: ScannedShard
  /** The number of bytes after the valid prefix, left by an interrupted append. */
  readonly droppedBytes: number
}

/** The highest shard that exists, or -1. Listings may be stale, so the row is probed upwards from there. */
export async function findTop(folder: Folder, known = -1): Promise<number> {
  let top = known
  for (const name of await folder.list()) top = Math.max(top, shardIndex(name))
  while (await folder.exists(shardName(top + 1))) top++
  return top
}

/** Finds the head at or below `top`; shards above it are void. Of a `known` shard, only new bytes are read. */
export async function findHead(folder: Folder, top: number, known?: KnownShard): Promise<Head | null> {
  for (let shard = top; shard >= 0; shard--) {
    const before = known?.shard === shard ? known : undefined
    const bytes = before ? await readBehind(folder, before) : await readShard(folder, shard)
    if (bytes === null) continue
    const scanned = scanShard(bytes, undefined, before, folder.append?.crc32)
    // A file that is created as a whole is never half written, so without a header it is damaged, not void.
    const isWhole = !folder.append && bytes.length > 0
    if (scanned.damaged || (isWhole && scanned.header === null)) {
      throw damaged(folder, shard, (before?.validBytes ?? 0) + scanned.validBytes)
    }
    if (scanned.header === null) continue
    const droppedBytes = (before?.validBytes ?? 0) + bytes.length - scanned.validBytes
    return { shard, header: scanned.header, scanned, droppedBytes }
  }
  return null
}

/**
 * Reads a shard; null if a power loss deleted a name that no header counts. Create-only stores have no such gaps, but a new
 * file may become readable late: it is read again, and never treated as missing.
 */
async function readShard(folder: Folder, shard: number): Promise<Uint8Array | null> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const bytes = await folder.read(shardName(shard))
    if (bytes !== null || folder.append) return bytes
    await new Promise((resolve) => setTimeout(resolve, READ_BACKOFF_MS * 2 ** attempt))
  }
  throw new LonghaulError("storage", `${shardName(shard)} in ${folder.location} exists and cannot be read.`)
}

/** Reads the bytes after the known part. A shard that was created as a whole never grows. */
async function readBehind(folder: Folder, { shard, validBytes }: KnownShard): Promise<Uint8Array | null> {
  return folder.append ? folder.append.readFrom(shardName(shard), validBytes) : new Uint8Array()
}

const READ_ATTEMPTS = 6
const READ_BACKOFF_MS = 20

/** The part of a row's history that was read before, up to a position in the shard that was its head. */
export interface KnownRow {
  readonly head: KnownShard
  readonly records: readonly RunRecord[]
}

/** `history(head, valid prefix)`: the records of every shard below that counts, then the head's own. */
export async function historyOf(row: Folder, head: Head, known?: KnownRow): Promise<readonly RunRecord[]> {
  // Bytes that were read never change: only the shard's owner writes it, and only appends.
  const own = recordsOf(head.scanned, head.header.v)
  if (known?.head.shard === head.shard) return [...known.records, ...own]
  let base = head.header.base
  if (base === null) return own
  const folder = readingAhead(row)
  const parts = [own]
  while (base !== null) {
    const scanned = await scanCounted(folder, base)
    parts.push(recordsOf(scanned, scanned.header.v))
    base = scanned.header.base
  }
  return parts.reverse().flat()
}

/** Prefetches lower shards on stores where every flush is a separate file. */
export function readingAhead(folder: Folder): Folder {
  if (folder.append) return folder
  const asked = new Map<number, Promise<Uint8Array | null>>()
  return {
    ...folder,
    read(name) {
      const shard = shardIndex(name)
      for (let below = shard; below >= 0 && below > shard - READS_AHEAD; below--) {
        if (asked.has(below)) continue
        const read = folder.read(shardName(below))
        asked.set(below, read)
        // The later read of this shard receives the failure.
        read.catch(() => {})
      }
      const found = asked.get(shard)
      asked.delete(shard)
      return found ?? folder.read(name)
    },
  }
}

const READS_AHEAD = 64

/** Reads a shard that a base counts: exactly `position.bytes` are valid, and any invalid line among them is an error. */
export async function scanCounted(
  folder: Folder,
  position: Position,
): Promise<ScannedShard & { readonly header: ShardHeader }> {
  const bytes = await readShard(folder, position.shard)
  const scanned = bytes && scanShard(bytes, position.bytes, undefined, folder.append?.crc32)
  if (scanned?.header) return { ...scanned, header: scanned.header }
  throw damaged(folder, position.shard, 0)
}

export function recordsOf(scanned: ScannedShard, version: number): readonly RunRecord[] {
  return upgradeRecords(scanned.lines, version)
}

function damaged(folder: Folder, shard: number, readable: number): LonghaulError {
  const what = `Journal shard ${shardName(shard)} in ${folder.location} is damaged: its records after byte ${readable} are lost.`
  return new LonghaulError("storage", what, {
    retryable: false,
    fix: "Restore the run's folder from a backup; longhaul never skips acknowledged records.",
  })
}
