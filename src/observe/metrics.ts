import type { RunEvent, RunRecord } from "../contract/event.ts"
import type { ObservedRun, Observer } from "../contract/observe.ts"
import type { Usage } from "../contract/result.ts"
import { Histogram } from "./histogram.ts"

/** Totals over all runs since the observer was created or reset. */
export interface MetricsSnapshot {
  /**
   * `started` counts each start and resume, `paused` each pause: runs that are not `active` have one of four endings.
   */
  readonly runs: {
    readonly started: number
    readonly done: number
    readonly failed: number
    readonly cancelled: number
    readonly paused: number
    readonly active: number
  }
  readonly events: number
  /** As reported by the providers; an unreported bucket adds nothing. */
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
  }
  /** Cost of calls with a known price; `unpricedCalls` counts the others. */
  readonly costUsd: number
  readonly unpricedCalls: number
  /** Calls whose provider reports caching; the ratio is null if there are none. */
  readonly cache: {
    readonly hits: number
    readonly misses: number
    readonly hitRatio: number | null
    readonly readTokens: number
  }
  /** By tool name; after the first hundred names, `other`. An unknown outcome counts as an error. */
  readonly tools: {
    readonly callsByName: Counts
    readonly errorsByName: Counts
    readonly deniedByName: Counts
  }
  /** Questions to people about calls: still open, approved or answered, and denied. */
  readonly approvals: { readonly pending: number; readonly granted: number; readonly denied: number }
  /** Errors that ended a run or were retried. */
  readonly errors: { readonly total: number; readonly byCode: Counts }
  /** Completed turns, including tools. Percentiles are within 1 %; null without turns. */
  readonly turns: { readonly count: number; readonly p50Ms: number | null; readonly p95Ms: number | null }
}

export type Counts = Readonly<Record<string, number>>

/** Counts the events of all runs in constant memory. */
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

/** State of an active run. */
interface LiveRun {
  turnStartedAt: number | undefined
  readonly toolNames: Map<string, string>
}

/** A run whose journal was lost never ends for listeners: beyond this number, the oldest is dropped. */
const LIVE_RUNS = 65_536

class Metrics {
  readonly #live: Map<string, LiveRun>
  readonly #agents: Map<string, LiveRun>
  readonly #runs = { started: 0, done: 0, failed: 0, cancelled: 0, paused: 0 }
  readonly #tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  readonly #cache = { hits: 0, misses: 0, readTokens: 0 }
  readonly #tools = { calls: new Tally(), errors: new Tally(), denied: new Tally() }
  readonly #approvals = { asked: 0, granted: 0, denied: 0 }
  readonly #errors = new Tally()
  readonly #turns = new Histogram()
  #events = 0
  #costUsd = 0
  #unpricedCalls = 0

  /** Active runs stay. */
  constructor(before?: Metrics) {
    this.#live = before ? before.#live : new Map()
    this.#agents = before ? before.#agents : new Map()
  }

  record(event: RunEvent, run: ObservedRun): void {
    this.#events++
    const key = keyOf(run, event.agent)
    const isAgent = event.agent !== undefined
    const live = (isAgent ? this.#agents : this.#live).get(key)
    switch (event.type) {
      case "run-start":
      case "run-resume":
        if (isAgent) begin(this.#agents, key)
        else this.#begin(key)
        break
      case "turn-start":
        if (live) live.turnStartedAt = event.at
        break
      case "turn-end":
        this.#endTurn(event.at, live)
        break
      case "usage":
      case "metering":
        this.#addUsage(event.usage)
        break
      case "compaction":
        if (event.usage) this.#addUsage(event.usage)
        break
      case "tool-call":
        this.#tools.calls.add(event.name)
        live?.toolNames.set(event.callId, event.name)
        break
      case "tool-result":
        this.#settleCall(event, live)
        break
      case "approval-request":
        // The question of an agent is counted where the agent asks it.
        if (!event.of) this.#approvals.asked++
        break
      case "approval-result":
        if (!event.of) this.#approvals[event.decision === "deny" ? "denied" : "granted"]++
        break
      case "retry":
        this.#errors.add(event.failure.code)
        break
      case "run-pause":
        if (!isAgent) this.#runs.paused++
        this.#stop(key, isAgent)
        break
      case "run-end":
        if (!isAgent) this.#runs[event.status]++
        if (event.status === "failed" && event.error) this.#errors.add(event.error.code)
        this.#stop(key, isAgent)
        break
    }
  }

  snapshot(): MetricsSnapshot {
    const { hits, misses } = this.#cache
    const { asked, granted, denied } = this.#approvals
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
      approvals: { pending: Math.max(0, asked - granted - denied), granted, denied },
      errors: { total: this.#errors.total, byCode: this.#errors.counts() },
      turns: {
        count: this.#turns.count,
        p50Ms: this.#turns.percentile(0.5),
        p95Ms: this.#turns.percentile(0.95),
      },
    }
  }

  /** A run that is resumed without having ended here was lost in between: it is still the same run. */
  #begin(key: string): void {
    if (!this.#live.has(key)) this.#runs.started++
    begin(this.#live, key)
  }

  #stop(key: string, isAgent: boolean): void {
    if (isAgent) this.#agents.delete(key)
    else this.#live.delete(key)
  }

  #endTurn(at: number, live: LiveRun | undefined): void {
    if (live?.turnStartedAt === undefined) return
    this.#turns.add(at - live.turnStartedAt)
    live.turnStartedAt = undefined
  }

  #addUsage({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd }: Usage): void {
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

  #settleCall({ callId, outcome }: RunRecord & { readonly type: "tool-result" }, live: LiveRun | undefined): void {
    const names = live?.toolNames
    // The call of a run that was taken over was published in another process.
    const name = names?.get(callId) ?? OTHER
    names?.delete(callId)
    if (outcome.status === "denied") this.#tools.denied.add(name)
    else if (outcome.status !== "ok") this.#tools.errors.add(name)
  }
}

const OTHER = "other"
const MAX_NAMES = 100
const MAX_NAME_LENGTH = 200

/** Counts by name. Names come from the model: there may be any number of them, of any length. */
class Tally {
  readonly #counts = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  add(name: string): void {
    const room = name.length <= MAX_NAME_LENGTH && this.#counts.size < MAX_NAMES
    const kept = room || this.#counts.has(name) ? name : OTHER
    this.#counts.set(kept, (this.#counts.get(kept) ?? 0) + 1)
    this.#total++
  }

  counts(): Counts {
    return Object.fromEntries(this.#counts)
  }
}

function begin(live: Map<string, LiveRun>, key: string): void {
  live.set(key, { turnStartedAt: undefined, toolNames: new Map() })
  if (live.size <= LIVE_RUNS) return
  for (const oldest of live.keys()) {
    live.delete(oldest)
    break
  }
}

function keyOf({ workspaceId, runId, nodeId }: ObservedRun, agent = ""): string {
  return `${workspaceId}\n${runId}\n${nodeId}\n${agent}`
}
