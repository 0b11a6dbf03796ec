import type { RunRecord } from "../contract/event.ts"
import type { RunMetric } from "../contract/observe.ts"
import type { Usage } from "../contract/result.ts"
import { addUsage, noUsage } from "../lib/usage.ts"

/** The metrics of one run as a fold over its records: pass each once, in order. */
export class Metering {
  #backend = ""
  #model: string | null = null
  #askedAt = 0
  #usage: Usage = noUsage

  metricsOf(record: RunRecord): readonly RunMetric[] {
    switch (record.type) {
      case "choice":
        this.#backend = record.backend
        this.#model = record.model ?? null
        return []
      case "session":
        this.#model = record.model ?? this.#model
        return []
      case "turn-start":
        this.#askedAt = record.at
        return [this.#requestStart(record)]
      case "retry":
        this.#askedAt = record.at + record.delayMs
        return []
      case "usage":
        return this.#answered(record)
      case "metering":
        return this.#metered(record.usage)
      case "compaction":
        return record.usage ? this.#metered(record.usage) : []
      default:
        return []
    }
  }

  #requestStart({ at, turn }: RunRecord & { readonly type: "turn-start" }): RunMetric {
    return { type: "request-start", at, backend: this.#backend, model: this.#model, turn }
  }

  #answered({ at, turn, model, usage, durationMs }: RunRecord & { readonly type: "usage" }): readonly RunMetric[] {
    const took = durationMs ?? Math.max(0, at - this.#askedAt)
    return [
      { type: "request-end", at, backend: this.#backend, model, turn, durationMs: took, usage },
      ...this.#metered(usage),
    ]
  }

  #metered(usage: Usage): readonly RunMetric[] {
    this.#usage = addUsage(this.#usage, usage)
    const { costUsd: totalUsd } = this.#usage
    return [...cacheMetrics(usage), { type: "cost-add", costUsd: usage.costUsd, totalUsd, usage: this.#usage }]
  }
}

function cacheMetrics({ inputTokens, cacheReadTokens: readTokens }: Usage): readonly RunMetric[] {
  // A failed request whose usage was not reported has none of either.
  if (readTokens === null || (readTokens === 0 && inputTokens === 0)) return []
  return [readTokens > 0 ? { type: "cache-hit", readTokens } : { type: "cache-miss" }]
}
