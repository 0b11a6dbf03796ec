import { type ErrorCode, type Failure, LonghaulError } from "../contract/error.ts"
import { isRedirect } from "../lib/http/redirect.ts"
import { parseRetryAfter } from "../lib/retry.ts"

/** A request that a server rejected. */
export interface Refusal {
  readonly status: number
  readonly body: string
  readonly header: (name: string) => string | undefined
}

/** The error in a response body, in the protocol's format. */
export interface ReportedError {
  /** The code from the body, if it is more specific than the status. */
  readonly code?: ErrorCode | undefined
  readonly message: string
  readonly requestId?: string | undefined
  /** The delay, if the body has one and no header does. */
  readonly retryAfterMs?: number | undefined
}

/** A rejected request as an error of the taxonomy. `keyName`: the usual variable of its key. */
export function refusalError({ status, header }: Refusal, reported: ReportedError, keyName: string): LonghaulError {
  // A general server error in the body is less specific than a status with a reason.
  const code = reported.code === undefined || reported.code === "provider_error" ? codeOfStatus(status) : reported.code
  const fix = fixOf(code, status, keyName)
  const retryAfterMs = retryAfter(header) ?? reported.retryAfterMs
  return new LonghaulError(
    code,
    `The provider responded with ${status}: ${clip(reported.message) || "no reason given"}`,
    {
      data: { status },
      ...(fix !== undefined && { fix }),
      ...withRequestId(reported.requestId),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    },
  )
}

/** The server's own error in the middle of a stream. */
export function brokenOff(code: ErrorCode, message: string, requestId: string | undefined): LonghaulError {
  return new LonghaulError(code, `The provider aborted the response: ${clip(message)}`, withRequestId(requestId))
}

/** A stream that violates its protocol. `what` is our text: the stream is never quoted. */
export function malformed(what: string, requestId: string | undefined): LonghaulError {
  const message = `The provider's stream violates its protocol: ${what}.`
  return new LonghaulError("stream_malformed", message, withRequestId(requestId))
}

export function incomplete(requestId: string | undefined): LonghaulError {
  const message = "The response ended before the provider marked it complete."
  return new LonghaulError("stream_incomplete", message, withRequestId(requestId))
}

export function unexpectedStop(reason: string, requestId: string | undefined): LonghaulError {
  const message = `The model stopped for an unknown reason: ${clip(reason)}.`
  return new LonghaulError("unexpected_stop", message, withRequestId(requestId))
}

/** Default meaning of a status. */
export function codeOfStatus(status: number): ErrorCode {
  // An error with a success status.
  if (status < 300) return "provider_error"
  if (status === 401 || status === 403) return "auth"
  if (status === 402) return "billing"
  if (status === 404) return "model_not_found"
  if (status === 413) return "context_overflow"
  if (status === 429) return "rate_limited"
  if (status === 529) return "overloaded"
  if (status >= 500 || status === 408) return "provider_error"
  return "invalid_request"
}

function fixOf(code: ErrorCode, status: number, keyName: string): string | undefined {
  if (isRedirect(status)) {
    return "Set baseUrl to the final address: redirects are not followed, because they would receive the key."
  }
  return code === "auth" ? `Check the API key: set ${keyName} or pass apiKey.` : fixes[code]
}

const fixes: Partial<Record<ErrorCode, string>> = {
  billing: "Check the account's credit at the provider.",
  model_not_found: "Check the model's name and the baseUrl.",
  context_overflow: "Shorten the task or its history.",
  rate_limited: "Wait, or raise the account's rate limit.",
}

function retryAfter(header: (name: string) => string | undefined): number | undefined {
  const milliseconds = Number(header("retry-after-ms") || Number.NaN)
  return Number.isFinite(milliseconds) ? milliseconds : parseRetryAfter(header("retry-after"))
}

function withRequestId(requestId: string | undefined): Pick<Failure, "requestId"> {
  return requestId === undefined ? {} : { requestId }
}

/** Only bounds the text: the runtime shortens it, after it has masked secrets that a cut here would hide from it. */
function clip(text: string): string {
  return text.slice(0, 8192)
}
