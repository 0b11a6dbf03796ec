import type { TurnBound } from "../../contract/backend.ts"
import type { Usage } from "../../contract/result.ts"
import { contextTokens } from "../../lib/usage.ts"
import type { History } from "./history.ts"
import { messageTokensAtMost } from "./token-bound.ts"

/** Upper bound of the next turn: the reported usage of the last one plus the messages since. */
export class TurnBounds {
  readonly #history: History
  readonly #outputTokens: number
  readonly #fixed: () => number
  /** Everything up to `#counted`, including system prompt and tools; undefined before the first answer. */
  #known: number | undefined
  #counted = 0

  /** `fixed`: the parts of every request other than messages. */
  constructor(history: History, fixed: () => number, outputTokens: number) {
    this.#history = history
    this.#fixed = fixed
    this.#outputTokens = outputTokens
  }

  /** A separate function, so that nothing is counted if nothing is limited. */
  readonly next = (): TurnBound => {
    let inputTokens = this.#known ?? this.#fixed()
    const { messages } = this.#history
    for (const message of messages.slice(this.#counted)) inputTokens += messageTokensAtMost(message)
    return { inputTokens, outputTokens: this.#outputTokens }
  }

  /** Call after the history was replaced. */
  reset(): void {
    this.#known = undefined
    this.#counted = 0
  }

  /** The provider has counted the whole conversation of the request, but not the answer, which is not a message yet. */
  settle(usage: Usage): void {
    const tokens = contextTokens(usage)
    if (tokens === null) return
    this.#known = tokens
    this.#counted = this.#history.messages.length
  }
}
