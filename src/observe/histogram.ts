/** Each bucket ends 2 % above its start, and a value is reported within 1 % of either end. */
const GROWTH = 1.02
const MAX_MS = 30 * 24 * 3_600_000
const BUCKETS = Math.ceil(Math.log(MAX_MS) / Math.log(GROWTH)) + 2

/**
 * Durations in a fixed 9 KB. A percentile is within 1 % of the exact one from 1 ms to 30 days; shorter durations count
 * as zero, longer ones as 30 days.
 */
export class Histogram {
  readonly #counts = new Float64Array(BUCKETS)
  #total = 0

  get count(): number {
    return this.#total
  }

  add(durationMs: number): void {
    const bucket = durationMs < 1 ? 0 : 1 + Math.ceil(Math.log(durationMs) / Math.log(GROWTH))
    const at = Math.min(bucket, BUCKETS - 1)
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#total++
  }

  /** The smallest value that at least this share of all values does not exceed; null without values. */
  percentile(share: number): number | null {
    let left = Math.max(1, Math.ceil(share * this.#total))
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#counts[bucket] ?? 0
      if (left <= 0) return bucket === 0 ? 0 : (2 * GROWTH ** (bucket - 1)) / (1 + GROWTH)
    }
    return null
  }
}
