import { LonghaulError } from "../../contract/error.ts"
import type { Reserve } from "../../contract/event.ts"
import type { Limits, Usage } from "../../contract/result.ts"
import { onAbort } from "../../lib/abort.ts"
import { totalTokens } from "../../lib/usage.ts"

/** The spending of a run: with its agents, except for turns. */
export interface Spent {
  readonly tokens: number
  readonly usd: number
  readonly turns: number
  readonly turnsBelow: number
}

/**
 * The turns, tokens and dollars that a run and its agents may spend. The ledger of an agent is part of the one above it: a call
 * needs room in both. A call may start while the sum of spent and reserved amounts
 * is below the limits, so they are exceeded by one call at most. If the rest is reserved, the call waits until a reserve is
 * settled or refunded.
 */
export class Ledger {
  readonly #limits: Partial<Limits>
  readonly #above: Ledger | undefined
  /** Turns of this agent, and of all agents below it. */
  #turns: number
  #turnsBelow: number
  /** The reserves in the ledger above, by those here. */
  readonly #reservedAbove = new Map<Reserve, Reserve>()
  readonly #spent: { tokens: number; usd: number }
  /** The reserved amount, with the bound that it came from. */
  readonly #reserved = new Map<Reserve, Reserve>()
  /** The factor by which a call has exceeded its bound. */
  #growth = 1
  #waiting: (() => void)[] = []

  /** `before`: what a resumed run and its agents have already spent. `above`: already contains that. */
  constructor(limits: Partial<Limits>, before: Partial<Spent> = {}, above?: Ledger) {
    const { tokens = 0, usd = 0, turns = 0, turnsBelow = 0 } = before
    this.#limits = limits
    this.#above = above
    this.#spent = { tokens, usd }
    this.#turns = turns
    this.#turnsBelow = turnsBelow
  }

  /** Counts a turn that is about to start. Returns the error of a limit that is reached. */
  startTurn(turn: number): LonghaulError | undefined {
    const reached = this.turnLimit(turn)
    if (reached) return reached
    this.#turns = turn
    for (let each = this.#above; each; each = each.#above) each.#turnsBelow++
    return undefined
  }

  /** The error of a limit that leaves no room for this turn. */
  turnLimit(turn: number): LonghaulError | undefined {
    this.#turns = turn - 1
    for (let each: Ledger | undefined = this; each; each = each.#above) {
      const { turns = Number.POSITIVE_INFINITY } = each.#limits
      if (each.#turns + each.#turnsBelow >= turns) return outOfTurns(turns)
    }
    return undefined
  }

  /** Forgets a turn that was never answered. */
  dropTurn(): void {
    this.#turns--
    for (let each = this.#above; each; each = each.#above) each.#turnsBelow--
  }

  /** True if tokens or dollars are limited, so that calls need a reserve. */
  get limited(): boolean {
    return this.#limits.tokens !== undefined || this.#limits.usd !== undefined || this.#above?.limited === true
  }

  /** True if dollars are limited here or above, so that a price must be known. */
  get limitsDollars(): boolean {
    return this.#limits.usd !== undefined || this.#above?.limitsDollars === true
  }

  get spent(): { readonly tokens: number; readonly usd: number } {
    return this.#spent
  }

  /** Reserves the maximum cost of a call, once there is room. Rejects with `budget_exceeded` if a limit is reached. */
  async reserve(bound: Reserve, signal: AbortSignal): Promise<Reserve> {
    return this.#take(bound, this.#grown(bound), signal)
  }

  async #take(bound: Reserve, grown: Reserve, signal: AbortSignal): Promise<Reserve> {
    for (;;) {
      const exceeded = this.#exceeded()
      if (exceeded) throw exceeded
      if (this.#hasRoom() || signal.aborted) break
      await this.#nextRefund(signal)
    }
    const reserve = { ...grown }
    this.#reserved.set(reserve, bound)
    if (this.#above?.limited) await this.#reserveAbove(this.#above, reserve, bound, signal)
    return reserve
  }

  async #reserveAbove(above: Ledger, reserve: Reserve, bound: Reserve, signal: AbortSignal): Promise<void> {
    try {
      this.#reservedAbove.set(reserve, await above.#take(bound, reserve, signal))
    } catch (error) {
      this.refund(reserve)
      throw error
    }
  }

  /** Settles an answered call. If its provider reports no usage, the whole reserve counts as spent. */
  settle(reserve: Reserve, usage: Usage): void {
    const bound = this.#reserved.get(reserve)
    if (bound === undefined) return
    const reservedAbove = this.#reservedAbove.get(reserve)
    if (reservedAbove) this.#above?.settle(reservedAbove, usage)
    const tokens = totalTokens(usage) ?? reserve.tokens
    const usd = usage.costUsd ?? reserve.usd ?? 0
    this.#spent.tokens += tokens
    this.#spent.usd += usd
    this.#growth = Math.max(this.#growth, timesOver(tokens, bound.tokens), timesOver(usd, bound.usd))
    this.refund(reserve)
  }

  /** Bounds that were exceeded once may be again, and in parallel: later calls reserve as much more. */
  #grown({ tokens, usd }: Reserve): Reserve {
    let growth = this.#growth
    for (let each = this.#above; each; each = each.#above) growth = Math.max(growth, each.#growth)
    return { tokens: Math.ceil(tokens * growth), usd: usd === null ? null : usd * growth }
  }

  /** Counts usage that could not be reserved. Returns the error of a limit that is reached now. */
  spend(usage: Usage): LonghaulError | undefined {
    this.#spent.tokens += totalTokens(usage) ?? 0
    this.#spent.usd += usage.costUsd ?? 0
    const exceededAbove = this.#above?.spend(usage)
    return this.#exceeded() ?? exceededAbove
  }

  /** Gives back the reserve of an unanswered call. */
  refund(reserve: Reserve): void {
    this.#reserved.delete(reserve)
    const reservedAbove = this.#reservedAbove.get(reserve)
    if (reservedAbove) this.#above?.refund(reservedAbove)
    this.#reservedAbove.delete(reserve)
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }

  #exceeded(): LonghaulError | undefined {
    const { tokens = Number.POSITIVE_INFINITY, usd = Number.POSITIVE_INFINITY } = this.#limits
    const { tokens: usedTokens, usd: usedUsd } = this.#spent
    if (usedTokens >= tokens) {
      return exceeded(`Token budget exceeded: ${usedTokens} of ${tokens} tokens were used.`, "tokens")
    }
    return usedUsd >= usd
      ? exceeded(`Budget exceeded: $${usedUsd.toFixed(4)} of $${usd} were spent.`, "usd")
      : undefined
  }

  /** The error of a limit that is already reached. */
  get exhausted(): LonghaulError | undefined {
    return this.#exceeded() ?? this.#above?.exhausted
  }

  #hasRoom(): boolean {
    const { tokens = Number.POSITIVE_INFINITY, usd = Number.POSITIVE_INFINITY } = this.#limits
    let held = this.#spent.tokens
    let heldUsd = this.#spent.usd
    for (const reserve of this.#reserved.keys()) {
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

function timesOver(spent: number, bound: number | null): number {
  return bound ? spent / bound : 1
}

function exceeded(message: string, limit: "tokens" | "usd"): LonghaulError {
  return new LonghaulError("budget_exceeded", message, { fix: `Raise limits.${limit}.` })
}

function outOfTurns(turns: number): LonghaulError {
  return new LonghaulError("max_turns", `Maximum turns reached: ${turns}.`, { fix: "Raise limits.turns." })
}
