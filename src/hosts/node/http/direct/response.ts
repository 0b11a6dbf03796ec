type Header = (name: string) => string | undefined

/** Receives one response. Bytes are valid only during the call. */
export interface ResponseListener {
  head(status: number, header: Header): void
  chunk(bytes: Uint8Array): void
}

type State = "head" | "length" | "close" | ChunkState | "whole"
type ChunkState =
  | "size"
  | "padding"
  | "extension"
  | "sizeEnd"
  | "data"
  | "dataCr"
  | "dataEnd"
  | "trailer"
  | "trailerLine"
  | "trailerEnd"
  | "lastEnd"

/**
 * Parses HTTP/1.1 responses to POST from a connection's bytes, one after the other (RFC 9112). Stricter than required:
 * anything ambiguous is rejected. It owns the bytes it is given: the chunks of one read are joined in place and
 * delivered together.
 */
export class ResponseParser {
  #state: State = "whole"
  #listener: ResponseListener | undefined
  #head = ""
  /** Number of bytes of the CR LF CR LF that ends a head. */
  #blankLine = 0
  #left = 0
  #framing = 0
  #keepAlive = true
  #idleMs = Number.POSITIVE_INFINITY

  /** A response was read to its end, and none is expected. */
  get isWhole(): boolean {
    return this.#state === "whole"
  }

  /** True if the connection may be reused. */
  get isReusable(): boolean {
    return this.#state === "whole" && this.#keepAlive
  }

  /** How long the server keeps the connection, if stated. */
  get idleMs(): number {
    return this.#idleMs
  }

  expect(listener: ResponseListener): void {
    this.#listener = listener
    this.#state = "head"
    this.#expectHead()
  }

  push(bytes: Uint8Array): void {
    let at = 0
    while (this.#state === "head") {
      at = this.#readHead(bytes, at)
      if (at === bytes.length && this.#state === "head") return
    }
    if (this.#state === "length") at = this.#readLength(bytes, at)
    else if (this.#state === "close") at = this.#tell(bytes, at, bytes.length)
    else if (this.#state !== "whole") at = this.#readChunks(bytes, at)
    // Nothing more was requested: further bytes would be taken for the next response.
    if (this.#state === "whole" && at < bytes.length) this.#keepAlive = false
  }

  /** The response continues until the server closes the connection. */
  get endsAtClose(): boolean {
    return this.#state === "close"
  }

  /** Only the head becomes text: substrings would keep everything that came with it in memory. */
  #readHead(bytes: Uint8Array, from: number): number {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    // Nearly every head arrives in one piece.
    const end = this.#head === "" ? view.indexOf("\r\n\r\n", from, "latin1") : -1
    let at = end === -1 ? from : end + 4
    if (end !== -1) this.#blankLine = 4
    while (at < bytes.length && this.#blankLine < 4) {
      const byte = bytes[at++]
      const isNext = byte === (this.#blankLine % 2 === 0 ? CR : LF)
      this.#blankLine = isNext ? this.#blankLine + 1 : byte === CR ? 1 : 0
    }
    this.#head += view.toString("latin1", from, at)
    if (this.#head.length > MAX_HEAD_LENGTH) throw malformed("its head is too long")
    if (this.#blankLine === 4) {
      const head = this.#head.slice(0, -4)
      this.#expectHead()
      this.#begin(head)
    }
    return at
  }

  #expectHead(): void {
    this.#head = ""
    this.#blankLine = 0
  }

  #begin(head: string): void {
    const [, version, code] = HEAD.exec(head) ?? []
    if (code === undefined) throw malformed("its head is malformed")
    const status = Number(code)
    if (status === 101) throw malformed("it switches protocols without a request")
    if (status < 200) return
    const header = headersOf(head)
    const connection = header("connection")?.toLowerCase() ?? ""
    // HTTP/1.0 has no chunks: if they come nevertheless, the next response may not start where they end.
    const isKept = version === "1" || (/\bkeep-alive\b/.test(connection) && header("transfer-encoding") === undefined)
    this.#keepAlive = isKept && !/\bclose\b/.test(connection)
    const seconds = /\btimeout=(\d+)/.exec(header("keep-alive") ?? "")?.[1]
    this.#idleMs = seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000
    this.#state = this.#bodyOf(status, header)
    this.#listener?.head(status, header)
  }

  #bodyOf(status: number, header: Header): State {
    const length = header("content-length")
    const coding = header("transfer-encoding")
    if (coding !== undefined) {
      if (coding.toLowerCase() !== "chunked")
        throw malformed(`its transfer-encoding ${JSON.stringify(coding)} is unknown`)
      if (length !== undefined) throw malformed("it has two content-lengths")
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length)) throw malformed("its content-length is not a number")
    if (status === 204 || status === 304) return "whole"
    if (coding !== undefined) return this.#expectSize()
    if (length !== undefined) {
      this.#left = Number(length)
      return this.#left === 0 ? "whole" : "length"
    }
    this.#keepAlive = false
    return "close"
  }

  #readLength(bytes: Uint8Array, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    if (this.#left === 0) this.#state = "whole"
    return this.#tell(bytes, at, end)
  }

  #readChunks(bytes: Uint8Array, from: number): number {
    let at = from
    let start = from
    let end = from
    while (at < bytes.length && this.#state !== "whole") {
      if (this.#state !== "data") {
        // Safe: `at` is within the bytes; what is left of the states belongs to chunks.
        this.#state = this.#frame(bytes[at++] as number, this.#state as ChunkState)
        continue
      }
      const next = Math.min(bytes.length, at + this.#left)
      if (start === end) start = end = at
      else bytes.copyWithin(end, at, next)
      end += next - at
      this.#left -= next - at
      at = next
      if (this.#left === 0) this.#state = "dataCr"
    }
    this.#tell(bytes, start, end)
    return at
  }

  /** Handles a byte between the chunks' data. */
  #frame(byte: number, state: ChunkState): State {
    if (++this.#framing > MAX_HEAD_LENGTH) throw malformed("the data between its chunks is too long")
    switch (state) {
      case "size":
        return this.#size(byte)
      case "padding":
        return afterSize(byte)
      case "extension":
        return byte === CR ? "sizeEnd" : byte === LF ? unframed() : "extension"
      case "sizeEnd":
        return byte === LF ? (this.#left === 0 ? "trailer" : "data") : unframed()
      case "dataCr":
        return byte === CR ? "dataEnd" : unframed()
      case "dataEnd":
        return byte === LF ? this.#expectSize() : unframed()
      case "trailer":
        return byte === CR ? "lastEnd" : byte === LF ? unframed() : "trailerLine"
      case "trailerLine":
        return byte === CR ? "trailerEnd" : byte === LF ? unframed() : "trailerLine"
      case "trailerEnd":
        return byte === LF ? "trailer" : unframed()
      default:
        return byte === LF ? "whole" : unframed()
    }
  }

  #expectSize(): "size" {
    this.#left = 0
    this.#framing = 0
    return "size"
  }

  #size(byte: number): ChunkState {
    const digit = hexDigit(byte)
    if (digit !== -1) {
      this.#left = this.#left * 16 + digit
      return this.#left > Number.MAX_SAFE_INTEGER ? unframed() : "size"
    }
    return this.#framing === 1 ? unframed() : afterSize(byte)
  }

  #tell(bytes: Uint8Array, start: number, end: number): number {
    if (end > start) this.#listener?.chunk(bytes.subarray(start, end))
    return end
  }
}

/** By lower-case name. Parsed on demand: most are never needed. Repeated headers are joined, like `fetch` does. */
function headersOf(head: string): Header {
  const lower = head.toLowerCase()
  return (name) => {
    const line = `\r\n${name}:`
    let value: string | undefined
    for (let at = lower.indexOf(line); at !== -1; at = lower.indexOf(line, at + line.length)) {
      const end = head.indexOf("\r\n", at + line.length)
      const found = bare(head, at + line.length, end === -1 ? head.length : end)
      value = value === undefined ? found : `${value}, ${found}`
    }
    return value
  }
}

/** Without surrounding spaces and tabs; `trim` would remove more. */
function bare(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

function afterSize(byte: number): ChunkState {
  if (byte === CR) return "sizeEnd"
  if (byte === SEMICOLON) return "extension"
  return isBlank(byte) ? "padding" : unframed()
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

function unframed(): never {
  throw malformed("its chunks are framed incorrectly")
}

function malformed(reason: string): Error {
  return Object.assign(new Error(`The response is not HTTP/1.1: ${reason}.`), { code: "INVALID_HTTP" })
}

const CR = 13
const LF = 10
const TAB = 9
const SPACE = 32
const SEMICOLON = 59
const MAX_HEAD_LENGTH = 64 * 1024
/** A status line, and headers with valid names and no control character except tab. */
const HEAD =
  /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*)*$/
