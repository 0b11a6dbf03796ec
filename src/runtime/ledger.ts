import { LonghaulError } from "../contract/error.ts"
import type { Reserve } from "../contract/event.ts"
import type { Limits, Usage } from "../contract/result.ts"
import { onAbort } from "../lib/abort.ts"
import { totalTokens } from "../lib/usage.ts"

/**
 * The tokens and dollars that a run and everything below it may spend. A call may begin while the sum of what was spent and
 * what is reserved for other calls is below the limits, so that they are exceeded by one call at most. A call that finds the
 * rest reserved waits until a reserve is settled or refunded.
 */
export class Ledger {
  readonly #limits: Pick<Limits, "tokens" | "usd">
  readonly #spent: { tokens: number; usd: number }
  readonly #reserved = new Set<Reserve>()
  #waiting: (() => void)[] = []

  /** `spent`: by a resumed run before. */
  constructor(limits: Pick<Limits, "tokens" | "usd">, spent = { tokens: 0, usd: 0 }) {
    this.#limits = limits
    this.#spent = { ...spent }
  }

  /** True where tokens or dollars are limited, so that calls need a reserve. */
  get limited(): boolean {
    return this.#limits.tokens !== undefined || this.#limits.usd !== undefined
  }

  get spent(): { readonly tokens: number; readonly usd: number } {
    return this.#spent
  }

  /** Reserves the most that a call can cost, once there is room. Rejects with `budget_exceeded` where a limit is reached. */
  async reserve(bound: Reserve, signal: AbortSignal): Promise<Reserve> {
    for (;;) {
      const exceeded = this.#exceeded()
      if (exceeded) throw exceeded
      if (this.#hasRoom() || signal.aborted) break
      await this.#nextRefund(signal)
    }
    const reserve = { ...bound }
    this.#reserved.add(reserve)
    return reserve
  }

  /** Settles a call that was answered. Where its provider reports no usage, the whole reserve counts as spent. */
  settle(reserve: Reserve, usage: Usage): void {
    if (!this.#reserved.has(reserve)) return
    this.#spent.tokens += totalTokens(usage) ?? reserve.tokens
    this.#spent.usd += usage.costUsd ?? reserve.usd ?? 0
    this.refund(reserve)
  }

  /** Returns the reserve of a call that was not answered. */
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

  #nextRefund(signal: AbortSignal): Promise<void> {
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
