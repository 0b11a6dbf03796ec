import type { RunEvent } from "./event.ts"
import type { Usage } from "./result.ts"

/** Receives the events of every run of a runtime, synchronously and in order. Exceptions are contained. */
export interface Observer {
  /** False: it receives no deltas, which then cost nothing. Default true. */
  readonly deltas?: boolean
  recordEvent(event: RunEvent, run: ObservedRun): void
  recordMetric?(metric: RunMetric, run: ObservedRun): void
  /** Called when the runtime is closed. */
  flush?(): void | Promise<void>
}

export interface ObservedRun {
  /** The tenant: an observer may be shared by the runtimes of several. */
  readonly workspaceId: string
  readonly runId: string
  readonly nodeId: string
}

/** Metrics of a run: one flat union. */
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
  /** For an answered call whose provider reports caching. */
  | { readonly type: "cache-hit"; readonly readTokens: number }
  | { readonly type: "cache-miss" }
  /** Null: the price is unknown. `usage` is the run's total so far. */
  | {
      readonly type: "cost-add"
      readonly costUsd: number | null
      readonly totalUsd: number | null
      readonly usage: Usage
    }
