import { concatBytes } from "./bytes.ts"

/**
 * Cuts a byte stream into server-sent events. Chunks are cut at their last line feed, so each is decoded once and a
 * character split over two chunks stays whole. Lines end in LF or CRLF. Bytes are valid only during the call.
 */
export class SseCutter {
  readonly #onEvent: (event: string, data: string) => void
  #rest: Uint8Array[] = []
  #event = ""
  #data: string | null = null

  constructor(onEvent: (event: string, data: string) => void) {
    this.#onEvent = onEvent
  }

  push(chunk: Uint8Array): void {
    const cut = chunk.lastIndexOf(LF) + 1
    if (cut === 0) {
      this.#rest.push(chunk.slice())
      return
    }
    const whole = cut === chunk.length ? chunk : chunk.subarray(0, cut)
    const text = decoder.decode(this.#rest.length === 0 ? whole : concatBytes(...this.#rest, whole))
    this.#rest = cut === chunk.length ? [] : [chunk.slice(cut)]
    this.#lines(text)
  }

  #lines(text: string): void {
    let start = 0
    while (start < text.length) {
      const newline = text.indexOf("\n", start)
      const end = newline > start && text.charCodeAt(newline - 1) === CR ? newline - 1 : newline
      if (end === start) this.#dispatch()
      else this.#field(text, start, end)
      start = newline + 1
    }
  }

  #field(text: string, start: number, end: number): void {
    if (text.startsWith("data:", start)) {
      const value = text.slice(text.charCodeAt(start + 5) === SPACE ? start + 6 : start + 5, end)
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    } else if (text.startsWith("event:", start)) {
      this.#event = text.slice(text.charCodeAt(start + 6) === SPACE ? start + 7 : start + 6, end)
    }
  }

  #dispatch(): void {
    const data = this.#data
    const event = this.#event
    this.#data = null
    this.#event = ""
    if (data !== null) this.#onEvent(event, data)
  }
}

const LF = 10
const CR = 13
const SPACE = 32
/** Shared: it only ever sees whole lines, so it keeps no state between calls. */
const decoder = new TextDecoder()
