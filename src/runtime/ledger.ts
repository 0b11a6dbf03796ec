import { LonghaulError } from "../contract/error.ts"
import type { Reserve } from "../contract/event.ts"
import type { Limits, Usage } from "../contract/result.ts"
import { onAbort } from "../lib/abort.ts"
import { totalTokens } from "../lib/usage.ts"

/**
 * What a run and everything below it may take of tokens and dollars. A call is let in while what was spent and what is
 * set aside for calls under way stay below the limits; so the limits are overshot by one call at most, and a call that
 * finds all of the rest set aside waits until some of it comes back.
 */
export class Ledger {
  readonly #limits: Pick<Limits, "tokens" | "usd">
  readonly #spent: { tokens: number; usd: number }
  readonly #reserved = new Set<Reserve>()
  #waiting: (() => void)[] = []

  /** `spent`: by the run so far, where it goes on. */
  constructor(limits: Pick<Limits, "tokens" | "usd">, spent = { tokens: 0, usd: 0 }) {
    this.#limits = limits
    this.#spent = { ...spent }
  }

  /** Whether anything has to be set aside at all. */
  get limited(): boolean {
    return this.#limits.tokens !== undefined || this.#limits.usd !== undefined
  }

  get spent(): { readonly tokens: number; readonly usd: number } {
    return this.#spent
  }

  /** Sets aside what a call may take, at once where it can. Throws `budget_exceeded` where nothing is left to give. */
  reserve(bound: Reserve, signal: AbortSignal): Reserve | Promise<Reserve> {
    const exceeded = this.#exceeded()
    if (exceeded) throw exceeded
    if (!this.#hasRoom() && !signal.aborted) return this.#reserveLater(bound, signal)
    const reserve = { ...bound }
    this.#reserved.add(reserve)
    return reserve
  }

  async #reserveLater(bound: Reserve, signal: AbortSignal): Promise<Reserve> {
    await this.#somethingComesBack(signal)
    return this.reserve(bound, signal)
  }

  /** The call was answered. What its provider does not tell counts as all that was set aside for it. */
  settle(reserve: Reserve, usage: Usage): void {
    if (!this.#reserved.has(reserve)) return
    this.#spent.tokens += totalTokens(usage) ?? reserve.tokens
    this.#spent.usd += usage.costUsd ?? reserve.usd ?? 0
    this.refund(reserve)
  }

  /** The call came to nothing. */
  refund(reserve: Reserve): void {
    this.#reserved.delete(reserve)
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }

  #exceeded(): LonghaulError | undefined {
    const { tokens = Number.POSITIVE_INFINITY, usd = Number.POSITIVE_INFINITY } = this.#limits
    if (this.#spent.tokens >= tokens) {
      return exceeded(`Token budget exceeded: ${this.#spent.tokens} of ${tokens} tokens were used.`, "tokens")
    }
    if (this.#spent.usd >= usd) {
      return exceeded(`Budget exceeded: $${this.#spent.usd.toFixed(4)} of $${usd} were spent.`, "usd")
    }
    return undefined
  }

  #hasRoom(): boolean {
    const { tokens = Number.POSITIVE_INFINITY, usd = Number.POSITIVE_INFINITY } = this.#limits
    let held = this.#spent.tokens
    let heldUsd = this.#spent.usd
    for (const reserve of this.#reserved) {
      held += reserve.tokens
      heldUsd += reserve.usd ?? 0
    }
    return held < tokens && heldUsd < usd
  }

  #somethingComesBack(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const unlink = onAbort(signal, resolve)
      this.#waiting.push(() => {
        unlink()
        resolve()
      })
    })
  }
}

function exceeded(message: string, limit: "tokens" | "usd"): LonghaulError {
  return new LonghaulError("budget_exceeded", message, { fix: `Raise limits.${limit}.` })
}
