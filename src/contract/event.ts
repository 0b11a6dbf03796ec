import type { Effort } from "./effort.ts"
import type { Failure } from "./error.ts"
import type { Json, JsonObject, JsonSchema } from "./json.ts"
import type { Message } from "./message.ts"
import type { StopReason } from "./provider.ts"
import type { Limits, StructuredOutput, Usage } from "./result.ts"
import type { InterruptMode, SessionRef } from "./session.ts"
import type { Effect, ToolOutcome } from "./tool.ts"

/** Everything a run tells: what the journal holds, and what only listeners hear. */
export type RunEvent = RunRecord | Ephemeral

/** A line of the journal. `seq` counts 0, 1, 2 … along one run; published only once it is durable. */
export type RunRecord = { readonly seq: number; readonly at: number; readonly agent?: string } & RecordBody

export type RecordBody =
  | {
      readonly type: "run-start"
      readonly runId: string
      readonly nodeId: string
      readonly input: RecordedInput
      readonly tools: readonly { readonly name: string; readonly digest: string }[]
      readonly limits: Limits
    }
  | { readonly type: "run-resume"; readonly cause: "recovery" | "takeover" | "decision" }
  | {
      readonly type: "choice"
      readonly backend: string
      readonly model?: string
      readonly reasons: readonly string[]
      /** The model's provider itself holds the answer to the schema that was asked for. */
      readonly schemaEnforced?: boolean
    }
  | { readonly type: "session"; readonly ref: SessionRef; readonly model?: string }
  | { readonly type: "warning"; readonly code: string; readonly message: string }
  /** `reserve`: what was set aside for it, where tokens or dollars are limited. */
  | { readonly type: "turn-start"; readonly turn: number; readonly reserve?: Reserve }
  | {
      readonly type: "retry"
      readonly turn: number
      readonly attempt: number
      readonly delayMs: number
      readonly failure: Failure
    }
  | {
      readonly type: "reasoning-end"
      readonly turn: number
      readonly id: string
      readonly text: string
      readonly opaque?: Json
      readonly origin: string
    }
  /** `partial`: kept when the run was interrupted; in the result, never in messages. */
  | {
      readonly type: "text-end"
      readonly turn: number
      readonly id: string
      readonly text: string
      readonly partial?: boolean
    }
  | {
      readonly type: "tool-call"
      readonly turn: number
      readonly callId: string
      readonly wireId?: string
      readonly name: string
      readonly args: Json
      readonly opaque?: Json
      readonly origin?: string
    }
  | {
      readonly type: "usage"
      readonly turn: number
      readonly usage: Usage
      readonly model: string
      readonly requestId?: string
      readonly stopReason: StopReason
      /** From the request to the end of its answer. */
      readonly durationMs?: number
    }
  | {
      readonly type: "tool-intent"
      readonly callId: string
      readonly digest: string
      readonly effect: Effect
      readonly key: string
    }
  | {
      readonly type: "tool-result"
      readonly callId: string
      readonly outcome: ToolOutcome
      readonly durationMs: number
    }
  /** Said to the model between two turns: by a person, or with a `reason` by the runtime. */
  | { readonly type: "steer"; readonly text: string; readonly reason?: SteerReason; readonly inbox?: number }
  | { readonly type: "interrupt"; readonly mode: InterruptMode; readonly inbox?: number }
  | { readonly type: "cancel"; readonly inbox?: number }
  | { readonly type: "turn-end"; readonly turn: number }
  | { readonly type: "run-pause"; readonly reason: string }
  | {
      readonly type: "run-end"
      readonly status: "done" | "failed" | "cancelled"
      readonly error?: Failure
      /** Where a schema was asked for: the answer as data. */
      readonly output?: StructuredOutput
    }

/** `repair`: the answer did not have its form. `output-limit`: it was cut, and is to go on. */
export type SteerReason = "repair" | "output-limit"

export interface Reserve {
  readonly tokens: number
  /** Null: the price is not known. */
  readonly usd: number | null
}

/** Never stored, no `seq`; heard only after every record before it is durable. A reader that comes late gets the ends. */
export type Ephemeral =
  | { readonly type: "text-start" | "reasoning-start"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "tool-progress"; readonly callId: string; readonly message: string }

/** What a run was asked, as the journal keeps it. */
export interface RecordedInput {
  readonly messages: readonly Message[]
  readonly system?: string
  readonly model?: string
  readonly backend: string
  readonly cwd: string
  readonly effort?: Effort
  readonly outputSchema?: JsonSchema
  readonly metadata?: JsonObject
}
