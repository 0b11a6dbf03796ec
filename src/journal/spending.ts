import type { Reserve } from "../contract/event.ts"
import type { Usage } from "../contract/result.ts"
import { addUsage, noUsage, totalTokens } from "../lib/usage.ts"

/** The spending of a run, as in its ledger: for unreported usage, the whole reserve counts. */
export class Spending {
  tokens = 0
  usd = 0
  usage: Usage = noUsage
  /** Usage without a reported cost, by model: the program ended before it reported it. */
  readonly unpriced = new Map<string, Usage>()
  #reserve: Reserve | undefined
  /** The reserves of extensions' requests, which are apart from turns. */
  readonly #samples = new Map<string, Reserve>()

  /** Reserves for a turn. The reserve of an unanswered one is lost. */
  reserve(reserve: Reserve | undefined): void {
    if (this.#reserve) this.#count(this.#reserve)
    this.#reserve = reserve
  }

  reserveSample(sample: string, reserve: Reserve): void {
    this.#samples.set(sample, reserve)
  }

  /** Counts the usage of an answer, which settles the reserve of its turn. */
  settle(usage: Usage): void {
    this.add(usage)
    this.#reserve = undefined
  }

  /** Counts a request whose answer failed: its usage, or `reserve` if none was reported. */
  fail(usage: Usage, reserve: Reserve | undefined, sample?: string): void {
    this.add(usage, sample === undefined ? {} : { sample })
    if (sample === undefined) this.#reserve = undefined
    if (reserve) this.#count(reserve)
  }

  /** Gives back the reserve of a request that was refused. */
  refund(): void {
    this.#reserve = undefined
  }

  /** `sample`: the request of an extension that the usage settles. `model`: the one that was used. */
  add(usage: Usage, { sample, model = "" }: { readonly sample?: string; readonly model?: string } = {}): void {
    const reserve = sample === undefined ? this.#reserve : this.#samples.get(sample)
    if ((usage.costUsd ?? reserve?.usd ?? null) === null && totalTokens(usage)) {
      this.unpriced.set(model, addUsage(this.unpriced.get(model) ?? noUsage, usage))
    }
    this.usage = addUsage(this.usage, usage)
    this.tokens += totalTokens(usage) ?? reserve?.tokens ?? 0
    this.usd += usage.costUsd ?? reserve?.usd ?? 0
    if (sample !== undefined) this.#samples.delete(sample)
  }

  /** Counts the reserves of unanswered calls as spent. */
  lose(): void {
    this.reserve(undefined)
    for (const reserve of this.#samples.values()) this.#count(reserve)
    this.#samples.clear()
  }

  #count({ tokens, usd }: Reserve): void {
    this.tokens += tokens
    this.usd += usd ?? 0
  }
}
