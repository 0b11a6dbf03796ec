import type { Failure } from "./error.ts"
import type { Json } from "./json.ts"
import type { Effort } from "./model-settings.ts"
import type { ToolStatus } from "./tool.ts"

/** Exclusive buckets: their sum is what was processed. `null`: the provider does not say. */
export interface Usage {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly cacheReadTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly costUsd: number | null
}

export interface Limits {
  /** Model calls that were answered. */
  readonly turns: number
  /** All tokens of all buckets. */
  readonly tokens?: number
  readonly usd?: number
  /** Wall time from the start of the run. */
  readonly timeMs?: number
}

export type RunStatus = "done" | "paused" | "failed" | "cancelled"

/** Why a person is asked about a call: may it run, what is the answer to it, what became of it. */
export type AskReason = "approval" | "input" | "unknown_outcome"

/** `fork`: a copy of another run's beginning. `released`: its process let go of it. Both continue when they are resumed. */
export type PauseReason = AskReason | "fork" | "released"

/** The reason why a run is paused, and the call that it waits for. */
export interface Pause {
  readonly reason: PauseReason
  readonly pendingToolCall: PendingToolCall | null
  /** Unix milliseconds. */
  readonly askedAt: number
}

export interface PendingToolCall {
  readonly id: string
  readonly name: string
  /** Exactly what will run if it is approved. */
  readonly args: Json
  /** The reason that the gate gave, or the question of the model. */
  readonly question: string
  /** Identifies this call: a decision with this ticket cannot be applied to another one. */
  readonly ticket: string
  /** Unix milliseconds. */
  readonly calledAt: number
}

/**
 * JSON-safe, one flat shape for every status: once `status` is checked, `pause` and `error` are known to be there or not.
 * `Data`: what a done run comes back with, its text unless a schema was asked for.
 */
export type RunResult<Data = Json> = DoneResult<Data> | PausedResult | StoppedResult

export interface DoneResult<Data = Json> extends RunFacts {
  readonly status: "done"
  /** The text, or where a schema was asked for the value that fits it. */
  readonly data: Data
  readonly pause?: never
  readonly error?: never
}

export interface PausedResult extends RunFacts {
  readonly status: "paused"
  /** What a person must review; null where no call waits. */
  readonly data: { readonly question: string; readonly tool: string; readonly args: Json } | null
  readonly pause: Pause
  readonly error?: never
}

export interface StoppedResult extends RunFacts {
  readonly status: "failed" | "cancelled"
  readonly data: null
  readonly pause?: never
  readonly error: Failure
}

/** The part of a result that every status has. */
export interface RunFacts {
  readonly runId: string
  readonly nodeId: string
  /** What the model said last, also where the run did not get to its end. */
  readonly text: string
  /** Where `data` came from, where a schema was asked for. */
  readonly structuredSource?: StructuredSource
  readonly usage: Usage
  readonly turns: number
  readonly durationMs: number
  readonly backend: string
  readonly model: string | null
  readonly effort?: Effort
  readonly sessionId: string | null
  readonly toolCalls: readonly ToolCallRecord[]
  readonly capabilitiesUsed: CapabilitiesUsed
  readonly warnings: readonly RunWarning[]
  readonly transcript: { readonly path: string; readonly lastShard: number }
  /** Unix milliseconds of the last record. */
  readonly timestamp: number
}

export interface RunWarning {
  readonly code: string
  readonly message: string
  /** The files that it is about. */
  readonly paths?: readonly string[]
}

export interface StructuredOutput {
  readonly data: Json
  readonly source: StructuredSource
}

/**
 * `provider`: the provider held the answer to the schema. `text`: the answer was JSON. `extracted`: found in prose.
 * `repair`: given after the model was told what was wrong. Only where the mode is `forward`: `mismatch`, JSON that does not
 * fit; `raw`, the text as it is, which is no JSON.
 */
export type StructuredSource = "provider" | "text" | "extracted" | "repair" | "mismatch" | "raw"

/** What the run really made use of; null: the provider does not say, which is not the same as false. */
export interface CapabilitiesUsed {
  readonly promptCache: boolean | null
  readonly thinking: boolean | null
  readonly structuredOutputEnforced: boolean
  readonly subagentInvoked: boolean
  readonly mcpServersUsed: readonly string[]
  readonly nativeSubagentsUsed: readonly string[]
  readonly toolCompactionApplied: boolean
  readonly contextCompactionApplied: boolean | null
}

export interface ToolCallRecord {
  readonly id: string
  readonly name: string
  readonly args: Json
  /** The text the model was given; null while it has none. */
  readonly result: string | null
  /** `pending`: it has not been settled, and is when the run is resumed. */
  readonly status: ToolStatus | "pending"
  readonly durationMs: number
  /** The tool's own words where `status` is not ok. */
  readonly error?: string
}
