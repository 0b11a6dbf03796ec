import type { Reserve } from "../contract/event.ts"
import type { Usage } from "../contract/result.ts"
import { totalTokens } from "../lib/usage.ts"

/** What a run has spent, as in its ledger: for unreported usage, the whole reserve counts. */
export class Spending {
  tokens = 0
  usd = 0
  #reserve: Reserve | undefined

  /** Reserves for a turn. The reserve of an unanswered one is lost. */
  reserve(reserve: Reserve | undefined): void {
    this.lose()
    this.#reserve = reserve
  }

  /** Counts the usage of an answer, which settles the reserve of its turn. */
  settle(usage: Usage): void {
    this.add(usage)
    this.#reserve = undefined
  }

  /** Gives back the reserve of a request that was refused. */
  refund(): void {
    this.#reserve = undefined
  }

  add(usage: Usage): void {
    this.tokens += totalTokens(usage) ?? this.#reserve?.tokens ?? 0
    this.usd += usage.costUsd ?? this.#reserve?.usd ?? 0
  }

  /** Counts the reserve of an unanswered turn as spent. */
  lose(): void {
    this.tokens += this.#reserve?.tokens ?? 0
    this.usd += this.#reserve?.usd ?? 0
    this.#reserve = undefined
  }
}
