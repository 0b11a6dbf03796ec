import type { ErrorCode, LonghaulError } from "../../contract/error.ts"
import { isJsonObject } from "../../lib/json.ts"
import { isOverflow } from "../../lib/overflow-texts.ts"
import { brokenOff, type Refusal, type ReportedError, refusalError } from "../failure.ts"

/** A rejected request as an error of the taxonomy. The body's error type is more specific than the status. */
export function failureOf(refusal: Refusal): LonghaulError {
  const reported = parseError(refusal.body)
  const requestId = refusal.header("request-id") ?? reported.requestId
  return refusalError(refusal, { ...reported, requestId }, "ANTHROPIC_API_KEY")
}

/** An `error` event in the middle of a stream. */
export function streamFailure(type: string, message: string, requestId: string | undefined): LonghaulError {
  return brokenOff(errorCode(type, message) ?? "provider_error", message, requestId)
}

function errorCode(type: string, message: string): ErrorCode | undefined {
  if (type === "invalid_request_error" && isOverflow(message)) return "context_overflow"
  return byType[type]
}

const byType: Readonly<Record<string, ErrorCode>> = {
  authentication_error: "auth",
  permission_error: "auth",
  billing_error: "billing",
  invalid_request_error: "invalid_request",
  not_found_error: "model_not_found",
  request_too_large: "context_overflow",
  rate_limit_error: "rate_limited",
  overloaded_error: "overloaded",
  timeout_error: "provider_error",
  api_error: "provider_error",
}

function parseError(body: string): ReportedError {
  try {
    const parsed: unknown = JSON.parse(body)
    if (isJsonObject(parsed) && isJsonObject(parsed.error)) {
      const message = String(parsed.error.message)
      return {
        code: errorCode(String(parsed.error.type), message),
        message,
        ...(typeof parsed.request_id === "string" && { requestId: parsed.request_id }),
      }
    }
  } catch {
    // Proxies respond with HTML or plain text: then the status decides.
  }
  return { message: body }
}
