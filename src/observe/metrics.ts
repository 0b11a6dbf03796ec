import type { RunEvent, RunRecord } from "../contract/event.ts"
import type { ObservedRun, Observer } from "../contract/observe.ts"
import { Histogram } from "./histogram.ts"

/** Sums over all runs since the observer was made or reset. */
export interface MetricsSnapshot {
  /** `started` counts each start and resume, `paused` each pause: what is not `active` ended in one of four ways. */
  readonly runs: {
    readonly started: number
    readonly done: number
    readonly failed: number
    readonly cancelled: number
    readonly paused: number
    readonly active: number
  }
  readonly events: number
  /** What the providers told; a bucket that one does not tell adds nothing. */
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
  }
  /** Of the calls whose cost is known; `unpricedCalls` are the others. */
  readonly costUsd: number
  readonly unpricedCalls: number
  /** Of the calls whose provider tells; the ratio is null where there are none. */
  readonly cache: {
    readonly hits: number
    readonly misses: number
    readonly hitRatio: number | null
    readonly readTokens: number
  }
  /** By the tool's name; beyond the first hundred names, `other`. An error is also an outcome that nobody knows. */
  readonly tools: {
    readonly callsByName: Counts
    readonly errorsByName: Counts
    readonly deniedByName: Counts
  }
  /** What ended a run that failed, and what was tried again. */
  readonly errors: { readonly total: number; readonly byCode: Counts }
  /** Turns that came to their end, tools included. Percentiles are within 1 %; null where there are none. */
  readonly turns: { readonly count: number; readonly p50Ms: number | null; readonly p95Ms: number | null }
}

export type Counts = Readonly<Record<string, number>>

/** Counts what every run does, in memory that does not grow with their number. */
export function createMetricsObserver(): Observer & { snapshot(): MetricsSnapshot; reset(): void } {
  let metrics = new Metrics()
  return {
    deltas: false,
    recordEvent: (event, run) => metrics.record(event, run),
    snapshot: () => metrics.snapshot(),
    reset() {
      metrics = new Metrics(metrics)
    },
  }
}

/** What is kept of a run while it is under way. */
interface LiveRun {
  turnStartedAt: number | undefined
  readonly toolNames: Map<string, string>
}

/** A run whose journal was lost never ends for those who listen: beyond this many, the oldest is given up. */
const LIVE_RUNS = 65_536

class Metrics {
  readonly #live: Map<string, LiveRun>
  readonly #runs = { started: 0, done: 0, failed: 0, cancelled: 0, paused: 0 }
  readonly #tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  readonly #cache = { hits: 0, misses: 0, readTokens: 0 }
  readonly #tools = { calls: new Tally(), errors: new Tally(), denied: new Tally() }
  readonly #errors = new Tally()
  readonly #turns = new Histogram()
  #events = 0
  #costUsd = 0
  #unpricedCalls = 0

  /** What is under way goes on. */
  constructor(before?: Metrics) {
    this.#live = before ? before.#live : new Map()
  }

  record(event: RunEvent, run: ObservedRun): void {
    this.#events++
    switch (event.type) {
      case "run-start":
      case "run-resume":
        this.#begin(keyOf(run))
        break
      case "turn-start": {
        const live = this.#live.get(keyOf(run))
        if (live) live.turnStartedAt = event.at
        break
      }
      case "turn-end":
        this.#endTurn(event.at, run)
        break
      case "usage":
        this.#addUsage(event)
        break
      case "tool-call":
        this.#tools.calls.add(event.name)
        this.#live.get(keyOf(run))?.toolNames.set(event.callId, event.name)
        break
      case "tool-result":
        this.#settleCall(event, run)
        break
      case "retry":
        this.#errors.add(event.failure.code)
        break
      case "run-pause":
        this.#runs.paused++
        this.#live.delete(keyOf(run))
        break
      case "run-end":
        this.#runs[event.status]++
        if (event.status === "failed" && event.error) this.#errors.add(event.error.code)
        this.#live.delete(keyOf(run))
        break
    }
  }

  snapshot(): MetricsSnapshot {
    const { hits, misses } = this.#cache
    return {
      runs: { ...this.#runs, active: this.#live.size },
      events: this.#events,
      tokens: { ...this.#tokens },
      costUsd: this.#costUsd,
      unpricedCalls: this.#unpricedCalls,
      cache: { ...this.#cache, hitRatio: hits + misses === 0 ? null : hits / (hits + misses) },
      tools: {
        callsByName: this.#tools.calls.counts(),
        errorsByName: this.#tools.errors.counts(),
        deniedByName: this.#tools.denied.counts(),
      },
      errors: { total: this.#errors.total, byCode: this.#errors.counts() },
      turns: {
        count: this.#turns.count,
        p50Ms: this.#turns.percentile(0.5),
        p95Ms: this.#turns.percentile(0.95),
      },
    }
  }

  /** A run that is taken up again without having ended here was lost in between: it is still the same one. */
  #begin(key: string): void {
    if (!this.#live.has(key)) this.#runs.started++
    this.#live.set(key, { turnStartedAt: undefined, toolNames: new Map() })
    if (this.#live.size <= LIVE_RUNS) return
    for (const oldest of this.#live.keys()) {
      this.#live.delete(oldest)
      break
    }
  }

  #endTurn(at: number, run: ObservedRun): void {
    const live = this.#live.get(keyOf(run))
    if (live?.turnStartedAt === undefined) return
    this.#turns.add(at - live.turnStartedAt)
    live.turnStartedAt = undefined
  }

  #addUsage({ usage }: RunRecord & { readonly type: "usage" }): void {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } = usage
    this.#tokens.input += inputTokens ?? 0
    this.#tokens.output += outputTokens ?? 0
    this.#tokens.cacheRead += cacheReadTokens ?? 0
    this.#tokens.cacheWrite += cacheWriteTokens ?? 0
    if (costUsd === null) this.#unpricedCalls++
    else this.#costUsd += costUsd
    if (cacheReadTokens === null) return
    if (cacheReadTokens > 0) this.#cache.hits++
    else this.#cache.misses++
    this.#cache.readTokens += cacheReadTokens
  }

  #settleCall({ callId, outcome }: RunRecord & { readonly type: "tool-result" }, run: ObservedRun): void {
    const names = this.#live.get(keyOf(run))?.toolNames
    // The call of a run that was taken over was told to another process.
    const name = names?.get(callId) ?? OTHER
    names?.delete(callId)
    if (outcome.status === "denied") this.#tools.denied.add(name)
    else if (outcome.status !== "ok") this.#tools.errors.add(name)
  }
}

const OTHER = "other"
const MOST_NAMES = 100
const LONGEST_NAME = 200

/** Counts by name. Names are the model's own words: there may be any number of them, of any length. */
class Tally {
  readonly #counts = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  add(name: string): void {
    const room = name.length <= LONGEST_NAME && this.#counts.size < MOST_NAMES
    const kept = room || this.#counts.has(name) ? name : OTHER
    this.#counts.set(kept, (this.#counts.get(kept) ?? 0) + 1)
    this.#total++
  }

  counts(): Counts {
    return Object.fromEntries(this.#counts)
  }
}

function keyOf({ runId, nodeId }: ObservedRun): string {
  return `${runId}\n${nodeId}`
}
