import { findTokens, unfinishedToken } from "./token-search.ts"
import type { Hit, ValueSearch } from "./value-search.ts"

/** `known`: the known values in the text. `before`: the character in front of it. */
type Redact = (text: string, known: readonly Hit[], before: number | undefined) => string

/** Redacts text that arrives in pieces: an end that could be the start of a secret is held back until it is decided. */
export class RedactedStream {
  readonly #values: ValueSearch | undefined
  readonly #redact: Redact
  #held = ""
  /** The last character that left. */
  #before: number | undefined
  /** A token was so long that it left in parts: the rest of it is dropped. */
  #inToken = false

  constructor(values: ValueSearch | undefined, redact: Redact) {
    this.#values = values
    this.#redact = redact
  }

  /** The text that is not decided yet. */
  get held(): string {
    return this.#held
  }

  /** Returns the text that is decided, redacted. */
  push(piece: string): string {
    let text = this.#held + piece
    if (this.#inToken) {
      text = text.replace(/^[\w+/.~=-]*/, "")
      if (text === "") return ""
      this.#inToken = false
    }
    const known = this.#values?.hits(text) ?? none
    const value = this.#unfinishedValue(text, known)
    let end = Math.min(value, unfinishedLiteral(text))
    const token = unfinishedToken(text, this.#before)
    if (token !== -1 && text.length - token > MAX_HELD_LENGTH) this.#inToken = endsInToken(text, end)
    else if (token !== -1) end = Math.min(end, token)
    // Neither a literal reference nor a known value is cut if something else could begin within it.
    const literal = text.lastIndexOf(OPENING, end - 1)
    if (literal !== -1 && literal + OPENING.length >= end && end < text.length) end = literal
    const inside = known.find((hit) => hit.at < end && hit.end > end)
    return this.#release(text, known, inside ? inside.at : end)
  }

  /** Returns the rest. The start of a known value is masked if it is long enough to matter and not itself a known value. */
  end(): string {
    const text = this.#held
    const known = this.#values?.hits(text) ?? none
    const at = this.#unfinishedValue(text, known)
    const isComplete = known.some((hit) => hit.at === at && hit.end === text.length)
    const isLong = text.length - at >= MIN_MASKED_LENGTH
    const begun = isLong && !isComplete ? this.#values?.beginsAt(text, at) : undefined
    return begun ? this.#release(text, known, at) + begun.reference : this.#release(text, known, text.length)
  }

  /** No known value may go beyond `end`, unless it starts there. */
  #release(text: string, known: readonly Hit[], end: number): string {
    this.#held = text.slice(end)
    if (end === 0) return ""
    const inside = known.length === 0 ? known : known.filter((hit) => hit.end <= end)
    const released = this.#redact(text.slice(0, end), inside, this.#before)
    this.#before = text.charCodeAt(end - 1)
    return released
  }

  /** Where an unfinished known value starts, outside complete ones; the length of the text if there is none. */
  #unfinishedValue(text: string, known: readonly Hit[]): number {
    const values = this.#values
    if (values === undefined) return text.length
    let from = Math.max(0, text.length - values.longest)
    for (const hit of known) {
      if (hit.end <= from) continue
      // A match that starts where a complete one does is longer than it.
      const at = values.unfinished(text, from, hit.at + 1)
      if (at !== -1) return at
      from = hit.end
    }
    const at = values.unfinished(text, from, text.length)
    return at === -1 ? text.length : at
  }
}

function endsInToken(text: string, end: number): boolean {
  return findTokens(text, 0, end).at(-1)?.end === end
}

/** A literal reference must be escaped even if it is split. */
function unfinishedLiteral(text: string): number {
  // Most pieces have no brace: the loop would make nine strings for each of them.
  if (text.indexOf("{", text.length - OPENING.length) === -1) return text.length
  for (let length = Math.min(OPENING.length, text.length); length > 0; length--) {
    if (OPENING.startsWith(text.slice(text.length - length))) return text.length - length
  }
  return text.length
}

/** How a reference starts. */
export const OPENING = "{{secret:"
const none: readonly never[] = []
const MIN_MASKED_LENGTH = 8
const MAX_HELD_LENGTH = 16_384
