import { LonghaulError } from "../contract/error.ts"
import type { Reserve } from "../contract/event.ts"
import type { Limits, Usage } from "../contract/result.ts"
import { onAbort } from "../lib/abort.ts"
import { totalTokens } from "../lib/usage.ts"

/**
 * The tokens and dollars that a run and its children may spend. A call may start while the sum of spent and reserved amounts
 * is below the limits, so they are exceeded by one call at most. If the rest is reserved, the call waits until a reserve is
 * settled or refunded.
 */
export class Ledger {
  readonly #limits: Pick<Limits, "tokens" | "usd">
  readonly #spent: { tokens: number; usd: number }
  readonly #reserved = new Set<Reserve>()
  #waiting: (() => void)[] = []

  /** `spent`: the amount that a resumed run has already spent. */
  constructor(limits: Pick<Limits, "tokens" | "usd">, spent = { tokens: 0, usd: 0 }) {
    this.#limits = limits
    this.#spent = { ...spent }
  }

  /** True if tokens or dollars are limited, so that calls need a reserve. */
  get limited(): boolean {
    return this.#limits.tokens !== undefined || this.#limits.usd !== undefined
  }

  get spent(): { readonly tokens: number; readonly usd: number } {
    return this.#spent
  }

  /** Reserves the maximum cost of a call, once there is room. Rejects with `budget_exceeded` if a limit is reached. */
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

  /** Settles an answered call. If its provider reports no usage, the whole reserve counts as spent. */
  settle(reserve: Reserve, usage: Usage): void {
    if (!this.#reserved.has(reserve)) return
    this.#spent.tokens += totalTokens(usage) ?? reserve.tokens
    this.#spent.usd += usage.costUsd ?? reserve.usd ?? 0
    this.refund(reserve)
  }

  /** Counts usage that could not be reserved. Returns the error of a limit that is reached now. */
  spend(usage: Usage): LonghaulError | undefined {
    this.#spent.tokens += totalTokens(usage) ?? 0
    this.#spent.usd += usage.costUsd ?? 0
    return this.#exceeded()
  }

  /** Gives back the reserve of an unanswered call. */
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
