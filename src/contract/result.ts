import type { ToolEnforcement } from "./capabilities.ts"
import type { ErrorCode, Failure } from "./error.ts"
import type { Json, JsonObject } from "./json.ts"
import type { Effort } from "./model-settings.ts"
import type { AlwaysScope } from "./policy.ts"
import type { ToolStatus } from "./tool.ts"

/** Exclusive buckets: their sum is the total. `null`: not reported by the provider. */
export interface Usage {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly cacheReadTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly costUsd: number | null
}

export interface Limits {
  /** Answered model calls, also those of its agents. */
  readonly turns: number
  /** Sum of all buckets. */
  readonly tokens?: number
  readonly usd?: number
  /** Time since the start of the run, without the times when it was paused or had no process. */
  readonly timeMs?: number
}

export type RunStatus = "done" | "paused" | "failed" | "cancelled"

/** Why a person must decide about a call: approve it, answer it, or report its outcome. */
export type AskReason = "approval" | "input" | "unknown_outcome"

/**
 * `fork`: a copy of another run's beginning. `released`: released by its process. `handover`: it moves to another backend, and
 * something differs from the journal. All continue when they are resumed.
 */
export type PauseReason = AskReason | "fork" | "released" | "handover"

/** The reason why a run is paused, and the pending call. */
export interface Pause {
  readonly reason: PauseReason
  readonly pendingToolCall: PendingToolCall | null
  /** Facts for a person to know before it continues. */
  readonly text?: string
  /** Unix milliseconds. */
  readonly askedAt: number
}

export interface PendingToolCall {
  /** The agent that makes the call, if it is not the run itself: `id` is then one of its calls. */
  readonly agent?: string
  readonly id: string
  readonly name: string
  /** Exactly the arguments that run if it is approved. */
  readonly args: Json
  /** The reason of the policy or the gate, or the model's question. */
  readonly question: string
  /** The call itself asks, while it runs: `approve` is a yes without a text, and `deny` declines. */
  readonly by?: "tool"
  /** The calls that the decision `always` would allow. Absent: it would approve this call only. */
  readonly always?: AlwaysScope
  /** Identifies this call: a decision with this ticket cannot apply to another one. */
  readonly ticket: string
  /** Unix milliseconds. */
  readonly calledAt: number
}

/**
 * JSON-safe, with one flat shape for every status: checking `status` determines whether `pause` and `error` exist.
 * `Data`: the data of a done run, its text unless a schema was requested.
 */
export type RunResult<Data = Json> = DoneResult<Data> | PausedResult | StoppedResult

export interface DoneResult<Data = Json> extends RunFacts {
  readonly status: "done"
  /** The text, or the value that matches the requested schema. */
  readonly data: Data
  readonly pause?: never
  readonly error?: never
}

export interface PausedResult extends RunFacts {
  readonly status: "paused"
  /** The call that a person must review; null if no call is pending. */
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
  /** The tenant. */
  readonly workspaceId: string
  readonly runId: string
  readonly nodeId: string
  /** The options that the caller passed with the run. */
  readonly metadata?: JsonObject
  /** The model's last text, even if the run did not complete. */
  readonly text: string
  /** The name of the requested schema, if it has one. */
  readonly outputSchema?: string
  /** Origin of `data`, if a schema was requested. */
  readonly structuredSource?: StructuredSource
  /** With that of its agents; of an agent that still works, as of its last stop. The same for `turns`. */
  readonly usage: Usage
  readonly turns: number
  readonly durationMs: number
  readonly backend: string
  readonly model: string | null
  readonly effort?: Effort
  readonly sessionId: string | null
  /** The newest 1,000 calls, in order, and those without a result. All of them are in `events`. */
  readonly toolCalls: readonly ToolCallRecord[]
  /** The number of all calls. */
  readonly toolCallCount: number
  readonly capabilitiesUsed: CapabilitiesUsed
  /** Attempts on earlier entries of the chain, in order; also entries that were skipped. */
  readonly failover: readonly FailedAttempt[]
  /** How far the policy reached, tool by tool. */
  readonly enforcement: readonly ToolEnforcement[]
  /** The newest 1,000. */
  readonly warnings: readonly RunWarning[]
  readonly transcript: { readonly path: string; readonly lastShard: number }
  /** Unix milliseconds of the last record. */
  readonly timestamp: number
}

/** An entry of the chain on which the run could not be finished. */
export interface FailedAttempt {
  readonly backend: string
  readonly model: string | null
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly requestId: string | null
}

export interface RunWarning {
  readonly code: string
  readonly message: string
  /** The affected files. */
  readonly paths?: readonly string[]
}

export interface StructuredOutput {
  readonly data: Json
  readonly source: StructuredSource
}

/**
 * `provider`: the provider enforced the schema. `text`: the answer was JSON. `extracted`: found in prose. `repair`: the
 * answer after validation errors were sent back. Only in mode `forward`: `mismatch`, JSON that does not match; `raw`,
 * the unchanged text, which is not JSON.
 */
export type StructuredSource = "provider" | "text" | "extracted" | "repair" | "mismatch" | "raw"

/** Features that the run really used; null: not reported by the provider, which differs from false. */
export interface CapabilitiesUsed {
  readonly promptCache: boolean | null
  readonly thinking: boolean | null
  readonly structuredOutputEnforced: boolean
  readonly subagentInvoked: boolean | null
  readonly mcpServersUsed: readonly string[]
  /** The vendor's own subagents, by their types. */
  readonly nativeSubagentsUsed: readonly string[] | null
  /** Null: the vendor ran tools itself, and may have shortened their results. */
  readonly toolCompactionApplied: boolean | null
  readonly contextCompactionApplied: boolean | null
}

export interface ToolCallRecord {
  readonly id: string
  readonly name: string
  readonly args: Json
  /** The text that the model received; null while there is none. */
  readonly result: string | null
  /** `pending`: not settled yet; settled when the run is resumed. */
  readonly status: ToolStatus | "pending"
  readonly durationMs: number
  /** The backend ran it without asking, or although it was refused. */
  readonly ungated?: "unasked" | "refused"
  /** The tool's own message if `status` is not ok. */
  readonly error?: string
}
