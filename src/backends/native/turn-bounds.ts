import type { TurnBound } from "../../contract/backend.ts"
import type { Usage } from "../../contract/result.ts"
import type { Dialogue } from "./dialogue.ts"
import { messageTokensAtMost } from "./token-bound.ts"

/** What the next turn can take at most: what the last one was told to have taken, and what has been said since. */
export class TurnBounds {
  readonly #dialogue: Dialogue
  readonly #outputTokens: number
  readonly #fixed: () => number
  /** Of everything up to `#counted`, system and tools included; undefined before the first answer. */
  #known: number | undefined
  #counted = 0

  /** `fixed`: what goes with every request beside the messages. */
  constructor(dialogue: Dialogue, fixed: () => number, outputTokens: number) {
    this.#dialogue = dialogue
    this.#fixed = fixed
    this.#outputTokens = outputTokens
  }

  /** A function of its own, so that nothing is counted where nobody limits anything. */
  readonly next = (): TurnBound => {
    let inputTokens = this.#known ?? this.#fixed()
    const { messages } = this.#dialogue
    for (const message of messages.slice(this.#counted)) inputTokens += messageTokensAtMost(message)
    return { inputTokens, outputTokens: this.#outputTokens }
  }

  /** The request's whole conversation has been counted by its provider; not yet the answer, which is no message yet. */
  settle({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): void {
    if (inputTokens === null) return
    this.#known = inputTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
    this.#counted = this.#dialogue.messages.length
  }
}
