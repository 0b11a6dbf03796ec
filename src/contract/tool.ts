import type { ContentPart } from "./content.ts"
import type { Environment } from "./env.ts"
import type { Json, JsonSchema } from "./json.ts"

/**
 * What running a tool twice would do. `none`: nothing, it may be re-run. `repeatable`: the same again, it may be re-run
 * if no other process can still be running it. `once`: it must never be re-run silently.
 */
export type Effect = "none" | "repeatable" | "once"
/** `tell`: the model is told that the outcome is unknown. `pause`: a person decides. */
export type UnknownOutcome = "tell" | "pause"
export type Risk = "low" | "medium" | "high"

/** What a model sees of a tool. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

/** A tool, complete: `defineTool` fills what its author left out. */
export interface Tool extends ToolSpec {
  readonly effect: Effect
  /** May run beside others of the same step. */
  readonly concurrent: boolean
  readonly risk: Risk
  /** The most bytes of text it may return; absent: the dispatcher's limit. */
  readonly maxOutputBytes?: number
  /** It caps its own text: the dispatcher does not cut it again. */
  readonly bounded?: boolean
  /** What to do where its process died before its outcome was recorded. Absent: what the run says. */
  readonly unknownOutcome?: UnknownOutcome
  /** Present where a person answers the call: in these words, and `run` is not asked. The run pauses for the answer. */
  readonly question?: (args: Json) => string
  /** Present where the author gave a Standard Schema: checks and transforms; absent: `inputSchema` decides. */
  readonly validate?: (args: Json) => Promise<ToolInput>
  run(args: unknown, context: ToolContext): unknown
}

/** Arguments as they passed validation, or every reason why they did not. */
export type ToolInput =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly issues: readonly string[] }

/** What a tool may rely on while it runs. */
export interface ToolContext {
  /** Aborted when the run is cancelled, timed out or fenced. */
  readonly signal: AbortSignal
  /** The same for every attempt at this call: hand it to systems that deduplicate by key. */
  readonly idempotencyKey: string
  readonly runId: string
  readonly callId: string
  readonly agent?: string
  readonly cwd: string
  readonly env: Environment
  /** Shows what is going on; ephemeral, never journalled. */
  progress(message: string): void
}

export type ToolStatus = "ok" | "error" | "denied" | "unknown"

export interface ToolOutcome {
  readonly status: ToolStatus
  readonly output: readonly ContentPart[]
}

/** The kernel's own small vocabulary: it tells the model what went wrong, not the host. */
export type ToolErrorCode =
  | "not_found"
  | "invalid_input"
  | "denied"
  | "conflict"
  | "timeout"
  | "aborted"
  | "io"
  | "internal"

/** Thrown by a tool to tell the model why; anything else a tool throws reaches the model as `internal` only. */
export class ToolError extends Error {
  override readonly name = "ToolError"
  readonly code: ToolErrorCode

  constructor(code: ToolErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}
