import type { ErrorCode, LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"
import { isOverflow } from "../../lib/overflow-texts.ts"
import { brokenOff, type Refusal, type ReportedError, refusalError } from "../failure.ts"

/** Sent by few servers: responses also contain their id in the body. */
export const REQUEST_ID_HEADER = "x-goog-request-id"

/** A rejected request as an error of the taxonomy. The body's status is more specific than the number. */
export function failureOf(refusal: Refusal): LonghaulError {
  const reported = parseError(refusal.body)
  return refusalError(refusal, { ...reported, requestId: refusal.header(REQUEST_ID_HEADER) }, "GEMINI_API_KEY")
}

/** An error in the middle of a stream. */
export function streamFailure(error: JsonObject, requestId: string | undefined): LonghaulError {
  return brokenOff(errorCode(error) ?? "provider_error", String(error.message), requestId)
}

function errorCode(error: JsonObject): ErrorCode | undefined {
  const message = String(error.message)
  if (error.status === "INVALID_ARGUMENT") {
    if (detailOf(error, "reason") === "API_KEY_INVALID" || message.includes("API key not valid")) return "auth"
    return isOverflow(message) ? "context_overflow" : "invalid_request"
  }
  if (error.status === "FAILED_PRECONDITION" && /billing/i.test(message)) return "billing"
  return byStatus[String(error.status)]
}

const byStatus: Readonly<Record<string, ErrorCode>> = {
  UNAUTHENTICATED: "auth",
  PERMISSION_DENIED: "auth",
  NOT_FOUND: "model_not_found",
  RESOURCE_EXHAUSTED: "rate_limited",
  UNAVAILABLE: "overloaded",
  INTERNAL: "provider_error",
  DEADLINE_EXCEEDED: "provider_error",
}

function parseError(body: string): ReportedError {
  try {
    const parsed: unknown = JSON.parse(body)
    // Some front ends respond with a list of one.
    const reported: unknown = Array.isArray(parsed) ? parsed[0] : parsed
    if (isJsonObject(reported) && isJsonObject(reported.error)) {
      const { error } = reported
      return { code: errorCode(error), message: String(error.message), retryAfterMs: retryDelay(error) }
    }
  } catch {
    // Proxies respond with HTML or plain text: then the status decides.
  }
  return { message: body }
}

/** Such as "7s" or "0.5s". */
function retryDelay(error: JsonObject): number | undefined {
  const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(String(detailOf(error, "retryDelay"))) ?? []
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000)
}

/** The details are a list of objects of several kinds: uses the first one with the field. */
function detailOf({ details }: JsonObject, field: string): Json | undefined {
  const list: readonly Json[] = Array.isArray(details) ? details : []
  for (const detail of list) if (isJsonObject(detail) && detail[field] !== undefined) return detail[field]
  return undefined
}
