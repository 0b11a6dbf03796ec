import { concatBytes } from "./bytes.ts"

/** The first and last part of a byte stream, in fixed memory. */
export class OutputWindow {
  readonly #head: Uint8Array
  readonly #tail: Uint8Array
  #headLength = 0
  /** Bytes after the head; the tail is a ring with the last of them. */
  #pastHead = 0

  constructor(maxBytes: number) {
    this.#head = new Uint8Array(Math.ceil(maxBytes / 2))
    this.#tail = new Uint8Array(Math.floor(maxBytes / 2))
  }

  add(bytes: Uint8Array): void {
    const first = bytes.subarray(0, this.#head.length - this.#headLength)
    this.#head.set(first, this.#headLength)
    this.#headLength += first.length

    const size = this.#tail.length
    const rest = bytes.subarray(first.length)
    const last = rest.subarray(Math.max(0, rest.length - size))
    const at = size === 0 ? 0 : (this.#pastHead + rest.length - last.length) % size
    this.#tail.set(last.subarray(0, size - at), at)
    this.#tail.set(last.subarray(size - at), 0)
    this.#pastHead += rest.length
  }

  /**
   * The new content as text, with a notice in the middle for omitted bytes. An incomplete character waits for its rest
   * while there is `more` to come; invalid UTF-8 is replaced.
   */
  take(more: boolean): { readonly text: string; readonly leftOutBytes: number } {
    const head = this.#head.subarray(0, this.#headLength)
    const tail = this.#lastOf()
    const missing = this.#pastHead - tail.length
    const parts =
      missing === 0 ? [concatBytes([head, tail])] : [head.slice(0, wholeEnd(head)), tail.slice(wholeStart(tail))]
    const leftOutBytes = missing === 0 ? 0 : head.length + this.#pastHead - concatBytes(parts).length

    const last = parts.pop() ?? head
    const end = more ? wholeEnd(last) : last.length
    this.#headLength = 0
    this.#pastHead = 0
    this.add(last.slice(end))
    const texts = [...parts, last.subarray(0, end)].map((part) => decoder.decode(part))
    return { text: texts.join(`\n[… ${leftOutBytes} bytes omitted …]\n`), leftOutBytes }
  }

  #lastOf(): Uint8Array {
    const size = this.#tail.length
    if (this.#pastHead <= size) return this.#tail.slice(0, this.#pastHead)
    const at = this.#pastHead % size
    return concatBytes([this.#tail.subarray(at), this.#tail.subarray(0, at)])
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** End of the last complete character. */
function wholeEnd(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at >= 0 && at >= bytes.length - 3; at--) {
    const byte = bytes[at] ?? 0
    if (isContinuation(byte)) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return at + length > bytes.length ? at : bytes.length
  }
  return bytes.length
}

/** Start of the first complete character. */
function wholeStart(bytes: Uint8Array): number {
  let at = 0
  while (at < 3 && isContinuation(bytes[at] ?? 0)) at++
  return at
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80
}
