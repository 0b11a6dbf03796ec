import { type ErrorCode, LonghaulError } from "../../contract/error.ts"
import { isJsonObject } from "../../lib/json.ts"
import { parseRetryAfter } from "../../lib/retry.ts"

/** A request that was refused, as an error of the taxonomy. The body's own error type says more than the status. */
export function failureOf(status: number, body: string, header: (name: string) => string | undefined): LonghaulError {
  const told = parseError(body)
  const requestId = header("request-id") ?? told.requestId
  const retryAfterMs = retryAfter(header)
  const code = codeOf(told.type, told.message) ?? codeOfStatus(status)
  const fix = fixes[code]
  return new LonghaulError(code, `The provider answered ${status}: ${told.message || "no reason given"}`, {
    data: { status },
    ...(fix !== undefined && { fix }),
    ...(requestId !== undefined && { requestId }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** An `error` event in the middle of a stream. */
export function streamFailure(type: string, message: string, requestId: string | undefined): LonghaulError {
  return new LonghaulError(codeOf(type, message) ?? "provider_error", `The provider broke off: ${clip(message)}`, {
    ...(requestId !== undefined && { requestId }),
  })
}

function codeOf(type: string, message: string): ErrorCode | undefined {
  if (type === "invalid_request_error" && /prompt is too long|context (window|length)/i.test(message))
    return "context_overflow"
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

function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return "auth"
  if (status === 402) return "billing"
  if (status === 404) return "model_not_found"
  if (status === 413) return "context_overflow"
  if (status === 429) return "rate_limited"
  if (status === 529) return "overloaded"
  if (status >= 500 || status === 408) return "provider_error"
  return "invalid_request"
}

const fixes: Partial<Record<ErrorCode, string>> = {
  auth: "Check the API key: set ANTHROPIC_API_KEY or pass apiKey.",
  billing: "Check the account's credit with the provider.",
  model_not_found: "Check the model's name and the baseUrl.",
  context_overflow: "Shorten the task or its history.",
  rate_limited: "Wait, or raise the account's rate limit.",
}

function retryAfter(header: (name: string) => string | undefined): number | undefined {
  const milliseconds = Number(header("retry-after-ms") ?? Number.NaN)
  return Number.isFinite(milliseconds) ? milliseconds : parseRetryAfter(header("retry-after"))
}

function parseError(body: string): { type: string; message: string; requestId?: string } {
  try {
    const parsed: unknown = JSON.parse(body)
    if (isJsonObject(parsed) && isJsonObject(parsed.error)) {
      return {
        type: String(parsed.error.type),
        message: clip(String(parsed.error.message)),
        ...(typeof parsed.request_id === "string" && { requestId: parsed.request_id }),
      }
    }
  } catch {
    // Proxies answer in HTML or plain text: the status decides then.
  }
  return { type: "", message: clip(body) }
}

function clip(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}…` : text
}
