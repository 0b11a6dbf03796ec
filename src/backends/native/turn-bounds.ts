import type { TurnBound } from "../../contract/backend.ts"
import type { Usage } from "../../contract/result.ts"
import type { Dialogue } from "./dialogue.ts"
import { messageTokensAtMost } from "./token-bound.ts"

/** Upper bound of the next turn: the reported usage of the last one plus the messages since. */
export class TurnBounds {
  readonly #dialogue: Dialogue
  readonly #outputTokens: number
  readonly #fixed: () => number
  /** Everything up to `#counted`, including system prompt and tools; undefined before the first answer. */
  #known: number | undefined
  #counted = 0

  /** `fixed`: the parts of every request other than messages. */
  constructor(dialogue: Dialogue, fixed: () => number, outputTokens: number) {
    this.#dialogue = dialogue
    this.#fixed = fixed
    this.#outputTokens = outputTokens
  }

  /** A separate function, so that nothing is counted if nothing is limited. */
  readonly next = (): TurnBound => {
    let inputTokens = this.#known ?? this.#fixed()
    const { messages } = this.#dialogue
    for (const message of messages.slice(this.#counted)) inputTokens += messageTokensAtMost(message)
    return { inputTokens, outputTokens: this.#outputTokens }
  }

  /** The provider has counted the whole conversation of the request, but not the answer, which is not a message yet. */
  settle({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): void {
    if (inputTokens === null) return
    this.#known = inputTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
    this.#counted = this.#dialogue.messages.length
  }
}
