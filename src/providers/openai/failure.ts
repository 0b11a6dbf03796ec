import type { ErrorCode, LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"
import { isOverflow } from "../../lib/overflow-texts.ts"
import { brokenOff, codeOfStatus, type Refusal, type ReportedError, refusalError } from "../failure.ts"

export const REQUEST_ID_HEADER = "x-request-id"

/** A rejected request as an error of the taxonomy. */
export function failureOf(refusal: Refusal, keyName: string): LonghaulError {
  const reported = parseError(refusal)
  return refusalError(refusal, { ...reported, requestId: refusal.header(REQUEST_ID_HEADER) }, keyName)
}

/** The server's own error in mid-stream, without a status. */
export function streamFailure(error: Json | undefined, requestId: string | undefined): LonghaulError {
  const reported = isJsonObject(error) ? error : { message: error ?? "no reason given" }
  const message = messageOf(reported)
  // Routers repeat the status that they received.
  const status = Number(reported.code)
  const overflow = overflowIn(message, status === 429 ? status : 400)
  const code = errorCode(reported) ?? overflow ?? (status >= 400 ? codeOfStatus(status) : undefined)
  return brokenOff(code ?? (reported.type === INVALID ? "invalid_request" : "provider_error"), message, requestId)
}

/** Used for nearly everything, so the status is more specific. */
const INVALID = "invalid_request_error"

function errorCode({ code, type }: JsonObject): ErrorCode | undefined {
  return byWord[String(code)] ?? byWord[String(type)]
}

/** Also where one request is over a limit of tokens by itself: it would be refused however long it waits. */
function overflowIn(message: string, status = 400): ErrorCode | undefined {
  const mayTell = status === 400 || status === 413 || status === 429
  return mayTell && isOverflow(message, status) ? "context_overflow" : undefined
}

const byWord: Readonly<Record<string, ErrorCode>> = {
  invalid_api_key: "auth",
  authentication_error: "auth",
  invalid_authentication_error: "auth",
  permission_error: "auth",
  insufficient_quota: "billing",
  billing_hard_limit_reached: "billing",
  exceeded_current_quota_error: "billing",
  rate_limit_exceeded: "rate_limited",
  rate_limit_error: "rate_limited",
  context_length_exceeded: "context_overflow",
  exceed_context_size_error: "context_overflow",
  model_not_found: "model_not_found",
  content_policy_violation: "content_filtered",
  content_filter: "content_filtered",
  invalid_prompt: "content_filtered",
  overloaded_error: "overloaded",
  engine_overloaded_error: "overloaded",
  server_is_overloaded: "overloaded",
  slow_down: "overloaded",
}

/** Compatible servers put it in `error`, as an object or a text, or directly in the body. */
function parseError({ body, status }: Refusal): ReportedError {
  try {
    const parsed: unknown = JSON.parse(body)
    if (isJsonObject(parsed)) {
      const bare = { ...parsed, message: parsed.error ?? parsed.message ?? body }
      const error = isJsonObject(parsed.error) ? parsed.error : bare
      const message = messageOf(error)
      return { code: overflowIn(message, status) ?? errorCode(error), message }
    }
  } catch {
    // Proxies respond with HTML or plain text: then the status decides.
  }
  return { message: body }
}

function messageOf({ message }: JsonObject): string {
  return typeof message === "string" ? message : JSON.stringify(message ?? null)
}
