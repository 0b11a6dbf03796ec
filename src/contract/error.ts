import type { Json } from "./json.ts"

/** Every way a run can fail, on any backend or provider. docs/errors.md has the table. */
export type ErrorCode =
  | "rate_limited"
  | "overloaded"
  | "provider_error"
  | "network"
  | "stream_stalled"
  | "stream_incomplete"
  | "stream_malformed"
  | "auth"
  | "billing"
  | "invalid_request"
  | "model_not_found"
  | "context_overflow"
  | "output_limit"
  | "content_filtered"
  | "unexpected_stop"
  | "max_turns"
  | "budget_exceeded"
  | "run_timeout"
  | "cancelled"
  | "orphaned"
  | "fenced"
  | "run_active"
  | "not_found"
  | "config_invalid"
  | "storage"
  | "outcome_unknown"
  | "backend_missing"
  | "backend_crashed"
  | "backend_protocol"
  | "session_lost"
  | "capability_mismatch"
  | "providers_exhausted"
  | "output_not_json"
  | "output_schema_mismatch"
  | "compaction_stuck"
  | "format_unsupported"
  | "tool_failed"
  | "policy_denied"
  | "policy_unavailable"
  | "sandbox_unavailable"
  | "runner_unreachable"
  | "invalid_state"
  | "approval_stale"
  | "internal"

/** A failure as data, for results, records and webhooks. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  /** True if the same call may succeed later without any change. */
  readonly retryable: boolean
  /** How to fix it, as one imperative sentence. */
  readonly fix?: string
  /** The provider's request id, for its support. */
  readonly requestId?: string
  /** The wait time requested by the other side. */
  readonly retryAfterMs?: number
  readonly data?: Json
}

const brand = Symbol.for("longhaul.error")

const retryableCodes: ReadonlySet<ErrorCode> = new Set([
  "rate_limited",
  "overloaded",
  "provider_error",
  "network",
  "stream_stalled",
  "stream_incomplete",
  "orphaned",
  "run_active",
  "storage",
  "backend_crashed",
  "policy_unavailable",
  "runner_unreachable",
])

/** The only error class. `cause` stays in the process: it is never journalled or sent. */
export class LonghaulError extends Error {
  override readonly name: string = "LonghaulError"
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly fix?: string
  readonly requestId?: string
  readonly retryAfterMs?: number
  readonly data?: Json

  constructor(code: ErrorCode, message: string, details: Partial<Failure> & { readonly cause?: unknown } = {}) {
    // It never throws itself, whatever it is given: that would hide the failure that it reports.
    const { cause, retryable, fix, requestId, retryAfterMs, data } = details ?? {}
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = retryable ?? retryableCodes.has(code)
    if (fix !== undefined) this.fix = fix
    if (requestId !== undefined) this.requestId = requestId
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
    if (data !== undefined) this.data = data
    Object.defineProperty(this, brand, { value: true })
  }

  /** Works across duplicate installs of the package, unlike `instanceof`. */
  static is(value: unknown): value is LonghaulError {
    return typeof value === "object" && value !== null && brand in value
  }

  toJSON(): Failure {
    return {
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...(this.fix !== undefined && { fix: this.fix }),
      ...(this.requestId !== undefined && { requestId: this.requestId }),
      ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
      ...(this.data !== undefined && { data: this.data }),
    }
  }
}

/** An invalid configuration, reported before anything is done. */
export class StartupError extends LonghaulError {
  override readonly name = "StartupError"

  constructor(message: string, details: { readonly fix: string; readonly cause?: unknown }) {
    super("config_invalid", message, details)
  }
}

/** A policy denied a call, or withheld its output. */
export class BlockedError extends LonghaulError {
  override readonly name = "BlockedError"

  constructor(
    message: string,
    details: { readonly fix?: string; readonly data?: Json; readonly cause?: unknown } = {},
  ) {
    super("policy_denied", message, details)
  }
}
