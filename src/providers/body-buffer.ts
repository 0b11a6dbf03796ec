import type { Message } from "../contract/message.ts"

/** How a provider serialises a conversation: everything before the messages, each message, everything after them. */
export interface BodyShape {
  readonly prefix: string
  readonly suffix: string
  /** Maximum tokens of one answer, as stated in the prefix. */
  readonly maxOutputTokens?: number
  /** One message as JSON. */
  fragment(message: Message): string
  /**
   * Marks the last message, for example for a cache: every fragment ends in `plain`, which is replaced by `marked`.
   * ASCII.
   */
  readonly lastMessage?: { readonly plain: string; readonly marked: string }
}

/**
 * The request body of one conversation. It grows with it: serialised bytes of earlier calls are kept, so the cost of a
 * call depends on what is new, not on the whole history. The returned bytes are valid until the next call.
 */
export class BodyBuffer {
  readonly #shape: BodyShape
  #buffer = new Uint8Array(2048)
  readonly #messages: Message[] = []
  /** As passed the last time. */
  #last: readonly Message[] | undefined
  /** End offset of each message's fragment. */
  readonly #ends: number[] = []
  readonly #prefixLength: number

  constructor(shape: BodyShape) {
    this.#shape = shape
    this.#prefixLength = this.#put(shape.prefix, 0)
  }

  body(messages: readonly Message[]): Uint8Array {
    this.#keep(this.#shared(messages))
    let length = this.#length()
    for (const message of messages.slice(this.#messages.length)) {
      const text = this.#shape.fragment(message)
      length = this.#put(this.#messages.length === 0 ? text : `,${text}`, length)
      this.#messages.push(message)
      this.#ends.push(length)
    }
    const { lastMessage, suffix } = this.#shape
    const isMarked = lastMessage !== undefined && messages.length > 0
    const end = isMarked
      ? this.#put(lastMessage.marked + suffix, length - lastMessage.plain.length)
      : this.#put(suffix, length)
    return this.#buffer.subarray(0, end)
  }

  #length(): number {
    return this.#ends.at(-1) ?? this.#prefixLength
  }

  /** Number of leading messages that are identical to the serialised ones. */
  #shared(messages: readonly Message[]): number {
    const known = this.#messages.length
    if (messages === this.#last && messages[known - 1] === this.#messages[known - 1]) return known
    this.#last = messages
    const most = Math.min(messages.length, known)
    for (let index = 0; index < most; index++) if (messages[index] !== this.#messages[index]) return index
    return most
  }

  /** Drops outdated fragments, and unmarks the last message of the previous call. */
  #keep(count: number): void {
    this.#messages.length = count
    this.#ends.length = count
    const plain = this.#shape.lastMessage?.plain
    if (plain !== undefined && count > 0) this.#put(plain, this.#length() - plain.length)
  }

  /** Writes text at an offset; returns its end. Most text is ASCII, so the buffer grows only if needed. */
  #put(text: string, at: number): number {
    this.#makeRoom(at + text.length, at)
    const { read, written } = encoder.encodeInto(text, this.#buffer.subarray(at))
    if (read === text.length) return at + written
    this.#makeRoom(at + text.length * 3, at)
    return at + encoder.encodeInto(text, this.#buffer.subarray(at)).written
  }

  #makeRoom(length: number, kept: number): void {
    if (length <= this.#buffer.length) return
    const larger = new Uint8Array(Math.max(length, this.#buffer.length * 1.5))
    larger.set(this.#buffer.subarray(0, kept))
    this.#buffer = larger
  }
}

const encoder = new TextEncoder()
