import type { RunEvent } from "./event.ts"
import type { Usage } from "./result.ts"

/** Hears what every run of a runtime does, synchronously and in order. What it throws is contained. */
export interface Observer {
  /** False: it wants no deltas, which then cost nothing. Default true. */
  readonly deltas?: boolean
  recordEvent(event: RunEvent, run: ObservedRun): void
  recordMetric?(metric: RunMetric, run: ObservedRun): void
  /** The runtime is being closed. */
  flush?(): void | Promise<void>
}

export interface ObservedRun {
  readonly runId: string
  readonly nodeId: string
}

/** What a run did, counted: one flat union. */
export type RunMetric =
  | {
      readonly type: "request-start"
      readonly at: number
      readonly backend: string
      readonly model: string | null
      readonly turn: number
    }
  | {
      readonly type: "request-end"
      readonly at: number
      readonly backend: string
      readonly model: string
      readonly turn: number
      readonly durationMs: number
      readonly usage: Usage
    }
  /** Of an answered call whose provider tells. */
  | { readonly type: "cache-hit"; readonly readTokens: number }
  | { readonly type: "cache-miss" }
  /** Null: the price is not known. `usage` is the run's so far. */
  | {
      readonly type: "cost-add"
      readonly costUsd: number | null
      readonly totalUsd: number | null
      readonly usage: Usage
    }
