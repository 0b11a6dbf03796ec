import { LonghaulError } from "../contract/error.ts"
import type { JsonObject } from "../contract/json.ts"
import type { Appending } from "../contract/store.ts"
import { crc32 } from "../lib/crc32.ts"
import { isJsonObject } from "../lib/json.ts"
import { MAX_MARK_LENGTH } from "./flush-lines.ts"

/** A position in the row: the number of valid bytes of a shard. */
export interface Position {
  readonly shard: number
  readonly bytes: number
}

/** The first line of a shard: its creator. On append stores it exists as soon as the shard's name does. */
export interface ShardClaim {
  readonly v: number
  /** 128 random bits per take: distinguishes the bytes of different writers. */
  readonly writer: string
  /** Describes the writer's process, so that its host can check whether it is alive. */
  readonly owner?: JsonObject
}

/**
 * A claim and its base: the last shard below that has a header, and the number of its valid bytes; shards between are void. The
 * base is in the claim's line if the shard was created as a whole, otherwise in the next line.
 */
export interface ShardHeader extends ShardClaim {
  readonly base: Position | null
}

/** The content of a shard. `null` header: the shard is void, because its first flush is not complete. */
export interface ScannedShard {
  readonly header: ShardHeader | null
  /** The lines after the header, up to `validBytes`. */
  readonly lines: readonly JsonObject[]
  /** End of the longest run of complete flushes from byte 0. */
  readonly validBytes: number
  /** End of the last complete flush that is followed by bytes, which proves that it was acknowledged. */
  readonly certainBytes: number
  /** True if a complete flush follows invalid bytes: acknowledged records are damaged. */
  readonly damaged: boolean
}

/** The start of a shard that was read before. It cannot change, because its owner only appends. */
export interface KnownShard {
  readonly shard: number
  readonly header: ShardHeader
  readonly validBytes: number
}

/**
 * Reads the valid part of a shard. With `limit`, exactly that many bytes count, and invalid content in them is an error. With
 * `known`, `bytes` and `lines` are those after the known part.
 */
export function scanShard(
  bytes: Uint8Array,
  limit?: number,
  known?: KnownShard,
  hostCrc32: HostCrc32 = crc32,
): ScannedShard {
  const counted = limit === undefined ? bytes : bytes.subarray(0, limit)
  const begin = known?.validBytes ?? 0
  const { lines, valid, flushBefore } = readFlushes(counted, begin, counted.length > WORTH_LOADING ? hostCrc32 : crc32)
  if (limit !== undefined && valid !== limit) {
    throw new LonghaulError("storage", `A journal shard is damaged: ${valid} of ${limit} counted bytes can be read.`, {
      retryable: false,
      fix: "Restore the run's folder from a backup; longhaul never skips acknowledged records.",
    })
  }
  const begins = known ? null : headerOf(lines)
  const header = known?.header ?? begins?.header ?? null
  return {
    header,
    lines: header === null ? [] : begins ? lines.slice(begins.lines) : lines,
    validBytes: header === null ? 0 : begin + valid,
    certainBytes: header === null ? 0 : begin + (valid < counted.length ? valid : flushBefore),
    damaged: valid < counted.length && holdsLaterFlush(counted, valid, begin),
  }
}

/** The complete flushes at the start of the bytes. */
interface Flushes {
  readonly lines: JsonObject[]
  /** The ends of the last flush and of the one before it, relative to the given bytes. */
  readonly valid: number
  readonly flushBefore: number
}

/** Decodes and splits in pieces: much cheaper than line by line, and a long shard is never in memory as one string. */
function readFlushes(bytes: Uint8Array, begin: number, crcOf: HostCrc32): Flushes {
  const lines: JsonObject[] = []
  let valid = 0
  let flushBefore = 0
  for (let size = PIECE; ; ) {
    const start = valid
    const piece = bytes.subarray(start, start + size)
    const text = decoder.decode(piece)
    const isAscii = text.length === piece.length
    // Three parts per flush (text, `from`, crc), then the text after the last mark.
    const parts = text.split(endMark)
    for (let part = 0; part + 3 < parts.length; part += 3) {
      // Safe: the loop ends before the last group.
      const flush = parts[part] as string
      const from = parts[part + 1] as string
      const at = valid + (isAscii ? flush.length : encoder.encode(flush).length)
      // Safe: as above.
      const mark = { at, from: Number(from), crc: Number.parseInt(parts[part + 2] as string, 16) }
      if (!isComplete(bytes, mark, valid, begin, crcOf) || !addLines(lines, flush)) return { lines, valid, flushBefore }
      flushBefore = valid
      valid = at + from.length + MARK_WITHOUT_FROM
    }
    if (valid > start) continue
    if (start + size >= bytes.length) return { lines, valid, flushBefore }
    size *= 2
  }
}

/**
 * Adds the lines of a flush; the last one lacks its brace, which is part of the mark. Returns false, and adds nothing, if a line
 * is not JSON. The crc proves that our writer wrote the lines, so each is an object.
 */
function addLines(lines: JsonObject[], flush: string): boolean {
  const count = lines.length
  try {
    const texts = flush.split("\n")
    const last = texts.length - 1
    // Safe: `at` is below the length.
    for (let at = 0; at < last; at++) lines.push(JSON.parse(texts[at] as string))
    lines.push(JSON.parse(`${texts[last]}}`))
    return true
  } catch {
    lines.length = count
    return false
  }
}

type HostCrc32 = NonNullable<Appending["crc32"]>

interface EndMark {
  /** The start of the mark: the crc covers the bytes before it. */
  readonly at: number
  readonly from: number
  readonly crc: number
}

function markOf(bytes: Uint8Array, start: number, newline: number): EndMark | null {
  // Cheap check first: only the last line of a flush has a dot before the eight digits of a crc.
  if (bytes[newline - 11] !== DOT || bytes[newline - 2] !== QUOTE) return null
  const end = newline + 1
  const found = endMark.exec(decoder.decode(bytes.subarray(Math.max(start, end - MAX_MARK_LENGTH), end)))
  // Safe: the pattern has two groups.
  return found && { at: end - found[0].length, from: Number(found[1]), crc: Number.parseInt(found[2] as string, 16) }
}

/** `from` is relative to `bytes`, which start at byte `begin` of their shard. */
function isComplete(bytes: Uint8Array, mark: EndMark, from: number, begin: number, crcOf: HostCrc32): boolean {
  return mark.from === begin + from && mark.crc === crcOf(bytes, from, mark.at)
}

/** A flush is written only after the previous one was acknowledged, so a complete later flush proves damage. */
function holdsLaterFlush(bytes: Uint8Array, valid: number, begin: number): boolean {
  for (let start = valid; start < bytes.length; ) {
    const newline = bytes.indexOf(LF, start)
    if (newline === -1) return false
    const mark = markOf(bytes, start, newline)
    if (mark && mark.from > begin + valid && isComplete(bytes, mark, mark.from - begin, begin, crc32)) return true
    start = newline + 1
  }
  return false
}

/** The header at the start of the lines, and the number of lines that it uses. */
function headerOf([first, second]: readonly JsonObject[]): { header: ShardHeader; lines: number } | null {
  if (!isClaim(first)) return null
  // Safe: the crc of the flush proves that our writer wrote it, so it has the shape of a header.
  if ("base" in first) return { header: first as unknown as ShardHeader, lines: 1 }
  if (second === undefined || !("base" in second)) return null
  // Safe: as above.
  return { header: { ...first, base: second.base as unknown as Position | null }, lines: 2 }
}

/**
 * The creator of a shard according to its first line, with or without a header. Null if the line is missing: a power loss came
 * before it was durable, or the shard has version 1, whose writers created shards empty.
 */
export function claimOf(bytes: Uint8Array): ShardClaim | null {
  const end = bytes.indexOf(LF)
  if (end === -1) return null
  try {
    const line: unknown = JSON.parse(decoder.decode(bytes.subarray(0, end)))
    return isClaim(line) ? line : null
  } catch {
    return null
  }
}

/** No crc covers a claim alone, so its fields are checked; the host that wrote `owner` checks that one. */
function isClaim(line: unknown): line is JsonObject & ShardClaim {
  return isJsonObject(line) && typeof line.v === "number" && typeof line.writer === "string"
}

const LF = 10
const DOT = 46
const QUOTE = 34
const endMark = /,"end":"(\d+)\.([0-9a-f]{8})"\}\n/
const MARK_WITHOUT_FROM = ',"end":".00000000"}\n'.length
const PIECE = 4 * 1024 * 1024
const WORTH_LOADING = 512 * 1024
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
