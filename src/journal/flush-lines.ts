import { crc32 } from "../lib/crc32.ts"

/**
 * The lines of one flush. They are encoded when they are added, into reused memory: later changes of a record do not affect a
 * pending flush, and nothing is left for the garbage collector.
 */
export class FlushLines {
  #bytes = nothing
  #length = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** Adds a JSON object. */
  add(line: string): void {
    if (this.#length > 0) this.#bytes[this.#length++] = LF
    else this.#bytes = spare.pop() ?? new Uint8Array(FIRST_ROOM)
    this.#makeRoom(line.length)
    let { read, written } = encoder.encodeInto(line, this.#bytes.subarray(this.#length))
    // Most text is ASCII. Other text takes up to three bytes per character, and the mark must fit after it.
    if (read < line.length || this.#length + written + MAX_MARK_LENGTH > this.#bytes.length) {
      this.#makeRoom(line.length * 3)
      written = encoder.encodeInto(line, this.#bytes.subarray(this.#length)).written
    }
    this.#length += written
  }

  /**
   * The bytes of the flush in its shard, after the shard's `header` if it is the first flush. The last line ends in
   * `,"end":"<from>.<crc>"}`, where `from` is the flush's first byte in the shard and the crc covers everything before
   * that mark. Valid until lines are added or cleared; repeated calls return the same bytes.
   */
  sealed(from: number, header?: string): Uint8Array<ArrayBuffer> {
    if (header === undefined) return seal(this.#bytes, this.#length, from)
    const first = encoder.encode(`${header}\n`)
    const whole = new Uint8Array(first.length + this.#length + MAX_MARK_LENGTH)
    whole.set(first)
    whole.set(this.#bytes.subarray(0, this.#length), first.length)
    return seal(whole, first.length + this.#length, from)
  }

  /** Empties the flush. Its memory is kept for the next flush of any run, unless it is large. */
  clear(): void {
    if (this.isEmpty) return
    if (this.#bytes.length <= MAX_KEPT_BYTES && spare.length < MAX_SPARE) spare.push(this.#bytes)
    this.#bytes = nothing
    this.#length = 0
  }

  /** Makes room for `length` bytes, a line feed and the mark. */
  #makeRoom(length: number): void {
    const needed = this.#length + length + 1 + MAX_MARK_LENGTH
    if (needed <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 1.5))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}

/** Appends the mark to the lines. */
function seal(bytes: Uint8Array<ArrayBuffer>, length: number, from: number): Uint8Array<ArrayBuffer> {
  const unmarked = length - 1 // the last line's closing brace comes after the mark
  const crc = crc32(bytes, 0, unmarked).toString(16).padStart(8, "0")
  const mark = `,"end":"${from}.${crc}"}\n`
  return bytes.subarray(0, unmarked + encoder.encodeInto(mark, bytes.subarray(unmarked)).written)
}

export const MAX_MARK_LENGTH = 40
const LF = 10
const FIRST_ROOM = 1024
const MAX_KEPT_BYTES = 4096
const MAX_SPARE = 1024
const nothing = new Uint8Array(0)
const spare: Uint8Array<ArrayBuffer>[] = []
const encoder = new TextEncoder()
