import { LonghaulError } from "../contract/error.ts"
import { concatBytes } from "../lib/bytes.ts"

export interface SseSink {
  /** The data of one server-sent event. */
  event(data: string): void
}

/**
 * Splits a byte stream into the data of its server-sent events; event names are dropped, since every protocol repeats
 * them in the data. Chunks are cut at their last line feed, so each is decoded once and a character split over two
 * chunks stays whole. Lines end in LF or CRLF. Bytes are valid only during the call. An endless event is rejected as
 * `stream_malformed` once it is longer than any answer.
 */
export class SseCutter {
  readonly #sink: SseSink
  #rest: Uint8Array[] = []
  #restBytes = 0
  #data: string | null = null

  constructor(sink: SseSink) {
    this.#sink = sink
  }

  push(chunk: Uint8Array): void {
    const cut = chunk.lastIndexOf(LF) + 1
    if (cut === 0) {
      this.#keep(chunk)
      return
    }
    const whole = cut === chunk.length ? chunk : chunk.subarray(0, cut)
    const text = decoder.decode(this.#rest.length === 0 ? whole : concatBytes([...this.#rest, whole]))
    if (this.#rest.length > 0) this.#forget()
    if (cut < chunk.length) this.#keep(chunk.subarray(cut))
    this.#cut(text)
  }

  /** The stream has ended: an event without its last line end or blank line is still complete. */
  end(): void {
    const text = decoder.decode(concatBytes(this.#rest))
    this.#forget()
    if (text !== "" || this.#data !== null) this.#cut(`${text}\n\n`)
  }

  #keep(bytes: Uint8Array): void {
    this.#restBytes += bytes.length
    if (this.#restBytes > MAX_EVENT_LENGTH) throw endless()
    this.#rest.push(bytes.slice())
  }

  #forget(): void {
    this.#rest = []
    this.#restBytes = 0
  }

  /**
   * An event with one data line, which nearly all are, is found with two native searches, and its value is taken
   * without `fieldValue`: called for each delta, that would be compiled for itself and again in here.
   */
  #cut(text: string): void {
    let at = this.#data === null ? 0 : this.#lines(text, 0)
    for (;;) {
      const found = text.indexOf("data:", at)
      if (found === -1) return
      const end = text.indexOf("\n", found)
      const startsLine = found === 0 || text.charCodeAt(found - 1) === LF
      if (!startsLine) at = found + 5
      else if (text.charCodeAt(end + 1) === LF) {
        at = end + 2
        this.#sink.event(text.slice(text.charCodeAt(found + 5) === SPACE ? found + 6 : found + 5, end))
      } else at = this.#lines(text, found)
    }
  }

  /** Line by line up to the end of one event, or of the text: the rest of that event has not arrived then. */
  #lines(text: string, start: number): number {
    for (let at = start; at < text.length; ) {
      const newline = text.indexOf("\n", at)
      const end = newline > at && text.charCodeAt(newline - 1) === CR ? newline - 1 : newline
      if (end === at) {
        const data = this.#data
        this.#data = null
        if (data !== null) this.#sink.event(data)
        return newline + 1
      }
      if (text.startsWith("data:", at)) {
        const value = fieldValue(text, at, end)
        this.#data = this.#data === null ? value : `${this.#data}\n${value}`
        if (this.#data.length > MAX_EVENT_LENGTH) throw endless()
      }
      at = newline + 1
    }
    return text.length
  }
}

function fieldValue(text: string, start: number, end: number): string {
  return text.slice(text.charCodeAt(start + 5) === SPACE ? start + 6 : start + 5, end)
}

function endless(): LonghaulError {
  return new LonghaulError("stream_malformed", "The provider's stream violates its protocol: an event does not end.")
}

/** Twice the longest answer that a provider is known to send in one event. */
const MAX_EVENT_LENGTH = 128 * 1024 * 1024
const LF = 10
const CR = 13
const SPACE = 32
/** Shared: it only sees whole lines, so it keeps no state between calls. */
const decoder = new TextDecoder()
