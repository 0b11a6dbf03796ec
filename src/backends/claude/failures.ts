import type { Stop } from "../../contract/backend.ts"
import { type ErrorCode, LonghaulError } from "../../contract/error.ts"
import type { ClaudeEnd } from "./translate.ts"

/** The program's last word about a failure before its result. */
export interface ApiError {
  readonly error: string
  readonly requestId?: string
}

/** The stop for a result with an error flag. Decided by the program's flags; its text is only shown. */
export function stopOf(end: ClaudeEnd, reported: ApiError | undefined): Stop {
  if (end.stopReason === "refusal") return { reason: "refusal" }
  if (end.apiError === "max_output_tokens" || reported?.error === "max_output_tokens") return { reason: "output-limit" }
  if (end.terminalReason === "max_turns") return { reason: "limit" }
  const code = errorCode(end, reported)
  const fix = fixes[code]
  const message = end.text === "" ? `Claude stopped with an error (${end.terminalReason || "unknown"}).` : end.text
  const failure = new LonghaulError(code, message, {
    ...(fix !== undefined && { fix }),
    ...(reported?.requestId !== undefined && { requestId: reported.requestId }),
  })
  return { reason: "failed", failure: failure.toJSON() }
}

export function crashed(how: string): Stop {
  const failure = new LonghaulError("backend_crashed", `Claude ended without a result: ${how}`, {
    fix: "Resume the run. If it happens again, run the program by hand and read its output.",
  })
  return { reason: "failed", failure: failure.toJSON() }
}

/** The stop for an error of our own, or of the channel to the program. */
export function failed(error: unknown): Stop {
  const failure = LonghaulError.is(error)
    ? error
    : new LonghaulError("backend_crashed", "The session with Claude failed unexpectedly.", { cause: error })
  return { reason: "failed", failure: failure.toJSON() }
}

function errorCode({ status, terminalReason, apiError }: ClaudeEnd, reported: ApiError | undefined): ErrorCode {
  const byStatus =
    status === undefined ? undefined : (statuses[status] ?? (status >= 500 ? "provider_error" : undefined))
  return (
    byStatus ??
    apiErrors[apiError] ??
    terminalReasons[terminalReason] ??
    codesByError[reported?.error ?? ""] ??
    (terminalReason === "api_error" ? "provider_error" : "backend_crashed")
  )
}

const statuses: Readonly<Record<number, ErrorCode>> = {
  400: "invalid_request",
  401: "auth",
  402: "billing",
  403: "auth",
  404: "model_not_found",
  408: "network",
  413: "context_overflow",
  429: "rate_limited",
  529: "overloaded",
}

const apiErrors: Readonly<Record<string, ErrorCode>> = {
  connection_failed: "network",
  computer_slept: "network",
  network_edge_blocked: "network",
  tls_untrusted_ca: "network",
  stream_idle_timeout: "stream_stalled",
  no_response: "stream_incomplete",
  empty_completion: "stream_incomplete",
  usage_limit_reached: "rate_limited",
  model_requires_usage_credits: "billing",
  long_context_credits_required: "billing",
  stored_login_refused: "auth",
  provider_credentials: "auth",
  gateway_signin_required: "auth",
  gateway_session_expired: "auth",
  api_key_auth_disabled: "auth",
  org_disabled_credential: "auth",
  invalid_credential_header: "auth",
}

const terminalReasons: Readonly<Record<string, ErrorCode>> = {
  prompt_too_long: "context_overflow",
  blocking_limit: "context_overflow",
  rapid_refill_breaker: "context_overflow",
  image_error: "invalid_request",
  malformed_tool_use_exhausted: "stream_malformed",
  budget_exhausted: "budget_exceeded",
  structured_output_retry_exhausted: "output_schema_mismatch",
  tool_deferred_unavailable: "session_lost",
}

const codesByError: Readonly<Record<string, ErrorCode>> = {
  authentication_failed: "auth",
  oauth_org_not_allowed: "auth",
  account_on_hold: "auth",
  verification_required: "auth",
  cloud_credential_error: "auth",
  billing_error: "billing",
  rate_limit: "rate_limited",
  overloaded: "overloaded",
  server_error: "provider_error",
  invalid_request: "invalid_request",
  model_not_found: "model_not_found",
}

const fixes: Readonly<Partial<Record<ErrorCode, string>>> = {
  auth: "Log in with `claude auth login`, or set ANTHROPIC_API_KEY.",
  billing: "Check the plan or the credit of the account.",
  model_not_found: "Name a model that the account can use.",
  rate_limited: "Resume the run later.",
  overloaded: "Resume the run later.",
  context_overflow: "Shorten the task or its history.",
  session_lost: "Resume the run when the MCP server of the pending call is available again.",
}
