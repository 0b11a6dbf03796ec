import { MAX_SECRET_LENGTH, type Redact, withoutHalfWord } from "../../lib/text/before-cut.ts"
import { truncateUtf8, utf8Length } from "../../lib/truncate.ts"

export interface LineRange {
  /** The number of the first line to keep, from 1. */
  readonly offset: number
  /** Maximum number of lines to keep. */
  readonly limit: number
  readonly maxLineCharacters: number
  /** Total characters of all kept lines. */
  readonly maxCharacters: number
  /** Applied to a line before it is cut. */
  readonly redact: Redact
}

/** Splits a stream of text into lines and keeps a range of them: `<number>\t<text>`. */
export class LineCollector {
  readonly kept: string[] = []
  /** Number of lines so far, kept or not. */
  seen = 0
  /** True if lines follow the kept ones. */
  hasMore = false
  readonly #range: LineRange
  readonly #maxLineBytes: number
  /** The start of the incomplete line. */
  #pieces: Uint8Array[] = []
  #pieceBytes = 0
  #lineBytes = 0
  #characters = 0

  constructor(range: LineRange) {
    this.#range = range
    // Enough for the shown characters and a secret at their end, whatever they are.
    this.#maxLineBytes = (range.maxLineCharacters + MAX_SECRET_LENGTH) * 4
  }

  /** `full`: nothing that follows would be kept. */
  add(chunk: Uint8Array): "more" | "full" {
    let start = 0
    while (start < chunk.length) {
      if (this.#isFull()) {
        this.hasMore = true
        return "full"
      }
      const lineBreak = chunk.indexOf(0x0a, start)
      const end = lineBreak === -1 ? chunk.length : lineBreak
      this.#extend(chunk.subarray(start, end))
      if (lineBreak === -1) return "more"
      this.#finish()
      start = lineBreak + 1
    }
    return "more"
  }

  /** After the last chunk: a last line needs no line break. */
  end(): void {
    if (this.#lineBytes > 0 && !this.hasMore) this.#finish()
  }

  #isFull(): boolean {
    return this.kept.length >= this.#range.limit || this.#characters >= this.#range.maxCharacters
  }

  #extend(piece: Uint8Array): void {
    this.#lineBytes += piece.length
    if (this.seen + 1 < this.#range.offset) return
    const kept = piece.subarray(0, this.#maxLineBytes - this.#pieceBytes)
    if (kept.length === 0) return
    this.#pieces.push(kept)
    this.#pieceBytes += kept.length
  }

  #finish(): void {
    this.seen++
    if (this.seen >= this.#range.offset) {
      const line = `${this.seen}\t${this.#lineText()}`
      this.kept.push(line)
      this.#characters += line.length + 1
    }
    this.#pieces = []
    this.#pieceBytes = 0
    this.#lineBytes = 0
  }

  #lineText(): string {
    // One decoder per line: an invalid character must not swallow the next line.
    const decoder = new TextDecoder("utf-8", { ignoreBOM: this.seen > 1 })
    let text = ""
    for (const piece of this.#pieces) text += decoder.decode(piece, { stream: true })
    text += decoder.decode()
    const missing = this.#lineBytes - this.#pieceBytes
    if (missing === 0 && text.endsWith("\r")) text = text.slice(0, -1)
    const { maxLineCharacters: maxCharacters, redact } = this.#range
    if (missing === 0 && text.length <= maxCharacters) return text
    const masked = missing === 0 ? redact(text) : redact(withoutHalfWord(text))
    const cut = truncateUtf8(masked, { maxBytes: Infinity, maxCharacters })
    if (!cut.truncated && missing === 0) return masked
    return `${cut.text} [line cut: ${this.#lineBytes - utf8Length(cut.text)} bytes omitted]`
  }
}
