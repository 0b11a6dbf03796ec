import type { GuardedFetch } from "../../contract/env.ts"
import { type Effect, ToolError } from "../../contract/tool.ts"
import { withTimeout } from "../../lib/abort.ts"
import { concatBytes } from "../../lib/bytes.ts"
import { systemErrorCode } from "../../lib/failures.ts"
import { statusOf } from "../../lib/http/redirect.ts"
import type { ApiMethod } from "./method.ts"

type Fetch = typeof fetch

export interface ApiRequest {
  readonly service: string
  readonly url: URL
  readonly method: ApiMethod
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly effect: Effect
  readonly allowPrivate: boolean
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface ApiResponse {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  /** The body was longer. */
  readonly isCut: boolean
}

/** The function that sends requests: the host's own function, the guarded requests of the environment, or the global one. */
export interface Senders {
  readonly fetch: Fetch | undefined
  readonly guarded: GuardedFetch | undefined
}

/**
 * Sends one request and follows no redirect: its target would be a call that neither `allowedPaths` nor the policy has seen.
 * Rejects with a `ToolError`, `outcome_unknown` if the service may have acted on the request.
 */
export async function send(request: ApiRequest, { fetch: given, guarded }: Senders): Promise<ApiResponse> {
  try {
    if (given === undefined && guarded?.send) return await sendGuarded(request, guarded.send.bind(guarded))
    return await withTimeout(request.timeoutMs, request.signal, (limit) => sendPlain(request, given ?? fetch, limit))
  } catch (error) {
    throw failureOf(request, error)
  }
}

async function sendGuarded(request: ApiRequest, guarded: NonNullable<GuardedFetch["send"]>): Promise<ApiResponse> {
  const { url, method, body, headers, allowPrivate, maxBytes, timeoutMs, signal } = request
  const asked = { url: url.href, method, allowPrivate, ...(body !== undefined && { body }) }
  const { status, headers: received, bytes, truncated } = await guarded(asked, { headers, maxBytes, timeoutMs, signal })
  return { status, headers: received, bytes, isCut: truncated }
}

async function sendPlain(request: ApiRequest, fetch: Fetch, signal: AbortSignal): Promise<ApiResponse> {
  const { url, method, body, headers, maxBytes } = request
  const response = await fetch(url.href, {
    method,
    headers: { ...headers },
    redirect: "manual",
    signal,
    ...(body !== undefined && { body }),
  })
  const received = Object.fromEntries([...response.headers].map(([name, value]) => [name.toLowerCase(), value]))
  return { status: statusOf(response), headers: received, ...(await bodyOf(response, maxBytes)) }
}

async function bodyOf(response: Response, maxBytes: number): Promise<Pick<ApiResponse, "bytes" | "isCut">> {
  const reader = response.body?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  while (reader && size <= maxBytes) {
    const { done, value } = await reader.read()
    if (done) return { bytes: concatBytes(chunks), isCut: false }
    chunks.push(value)
    size += value.length
  }
  // The rest is not needed, and a server that keeps sending is not a failure.
  void reader?.cancel().catch(() => {})
  return { bytes: concatBytes(chunks).slice(0, maxBytes), isCut: size > maxBytes }
}

/** Only codes of errors are shown: their messages may quote what was sent. */
function failureOf({ service, effect, signal, timeoutMs }: ApiRequest, error: unknown): ToolError {
  if (signal.aborted) return new ToolError("aborted", "The run is being stopped.")
  const code = systemErrorCode(error)
  const isRefused = error instanceof ToolError && (error.code === "denied" || error.code === "invalid_input")
  if (isRefused) return new ToolError(error.code, `${service} was not called: ${error.message}`)
  const isLate = nameOf(error) === "TimeoutError" || (error instanceof ToolError && error.code === "timeout")
  const text = isLate
    ? `${service} did not answer within ${timeoutMs} ms.`
    : `There was no usable response from ${service}${/^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : ""}.`
  if (effect === "none" || neverSent.test(code)) return new ToolError(isLate ? "timeout" : "io", text)
  return new ToolError("outcome_unknown", `${text} ${IN_DOUBT}`)
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ""
}

export const IN_DOUBT = "The call may or may not have taken effect: check before you try again."

/** Errors before the request was sent. */
const neverSent =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_.*|ERR_TLS_.*|.*_CERT(?:_.*)?|UNABLE_TO_.*)$/
