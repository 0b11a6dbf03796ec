import type { TurnHost } from "../../contract/backend.ts"
import type { Usage } from "../../contract/result.ts"
import { noUsage } from "../../lib/usage.ts"

/** Turns what a vendor reports into usage of this run, each token once. */
export class Meter {
  readonly #host: TurnHost
  #counted: Usage

  /** `counted`: the vendor's total when the session was opened, which earlier processes have recorded. */
  constructor(host: TurnHost, counted: Usage = noUsage) {
    this.#host = host
    this.#counted = counted
  }

  /** The vendor's total so far, for the reference of the session. */
  get counted(): Usage {
    return this.#counted
  }

  /** Usage since the last report. */
  add(usage: Usage, model?: string): void {
    this.#counted = each((name) => sum(this.#counted[name], usage[name]))
    this.#record(usage, model)
  }

  /** The vendor's total of the whole session. Only what was not counted yet is recorded. */
  total(usage: Usage, model?: string): void {
    const rest = each((name) => difference(usage[name], this.#counted[name]))
    this.#counted = usage
    this.#record(rest, model)
  }

  #record(usage: Usage, model: string | undefined): void {
    const { costUsd, ...tokens } = usage
    // Vendors that report no money report no cost of nothing, either.
    if (!costUsd && Object.values(tokens).every((value) => value === 0)) return
    this.#host.emit({ type: "metering", usage, ...(model !== undefined && { model }) })
  }
}

function each(value: (name: keyof Usage) => number | null): Usage {
  return {
    inputTokens: value("inputTokens"),
    outputTokens: value("outputTokens"),
    cacheReadTokens: value("cacheReadTokens"),
    cacheWriteTokens: value("cacheWriteTokens"),
    costUsd: value("costUsd"),
  }
}

function sum(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other
}

/** A total that shrinks is a new count of the vendor: nothing is taken back. */
function difference(total: number | null, counted: number | null): number | null {
  return total === null ? null : Math.max(0, total - (counted ?? 0))
}
