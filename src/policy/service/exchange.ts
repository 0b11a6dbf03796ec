import type { JsonObject } from "../../contract/json.ts"
import { withTimeout } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"

/**
 * A request that brought no usable answer. `silence`: the service was not reached, did not answer in time or completely, or has
 * failed (5xx); only then may open mode open. `answer`: it answered something that is not understood, or refused.
 */
export class ServiceFailure extends Error {
  override readonly name = "ServiceFailure"
  readonly kind: "silence" | "answer"
  readonly status: number | undefined

  constructor(kind: "silence" | "answer", message: string, status?: number) {
    super(message)
    this.kind = kind
    this.status = status
  }
}

export interface ServiceResponse {
  readonly status: number
  readonly text: string
}

export interface ServiceClientSettings {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
}

/**
 * Sends one request. One deadline covers headers and body; no redirect is followed, since it would carry the key elsewhere. A request
 * that the caller aborts is not a silence of the service.
 */
export function exchange(
  { fetch, timeoutMs }: ServiceClientSettings,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal?: AbortSignal,
): Promise<ServiceResponse> {
  return withTimeout(timeoutMs, signal, (limit) => {
    const noAnswer = (why: string) => {
      if (signal?.aborted) return new ServiceFailure("answer", "The answer of the policy service was not waited for.")
      const isLate = limit.aborted
      return new ServiceFailure("silence", isLate ? `The policy service did not answer within ${timeoutMs} ms.` : why)
    }
    const init = { method: "POST", headers, body, redirect: "manual", signal: limit } as const
    return answerOf(() => fetch(url, init), noAnswer)
  })
}

async function answerOf(
  ask: () => Promise<Response>,
  noAnswer: (why: string) => ServiceFailure,
): Promise<ServiceResponse> {
  let response: Response
  try {
    response = await ask()
  } catch {
    throw noAnswer("The policy service cannot be reached.")
  }
  const { status } = response
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
    await response.body?.cancel().catch(() => {})
    throw new ServiceFailure("answer", "The policy service answered with a redirect.", status)
  }
  if (status >= 500) {
    await response.body?.cancel().catch(() => {})
    throw new ServiceFailure("silence", `The policy service failed with status ${status}.`, status)
  }
  return { status, text: await bodyOf(response, noAnswer) }
}

/** Throws for anything that is not a JSON object. */
export function jsonObjectIn(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    // Safe: parsed JSON.
    if (isJsonObject(value) && !Object.hasOwn(value, "__proto__")) return value as JsonObject
  } catch {
    // Reported below.
  }
  throw new ServiceFailure("answer", "The policy service sent no JSON object.")
}

async function bodyOf(response: Response, noAnswer: (why: string) => ServiceFailure): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ""
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let text = ""
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      bytes += value.byteLength
      if (bytes > MAX_ANSWER_BYTES) throw new ServiceFailure("answer", "The answer of the policy service is too long.")
      text += decoder.decode(value, { stream: true })
    }
  } catch (error) {
    await reader.cancel().catch(() => {})
    if (error instanceof ServiceFailure) throw error
    if (error instanceof TypeError && isDecodingError(error)) {
      throw new ServiceFailure("answer", "The answer of the policy service is not UTF-8.")
    }
    throw noAnswer("The answer of the policy service was cut.")
  }
}

function isDecodingError(error: TypeError & { readonly code?: unknown }): boolean {
  return error.code === "ERR_ENCODING_INVALID_ENCODED_DATA" || /not valid for encoding|decod/i.test(error.message)
}

/** Verdicts are small: a longer answer is an attack or an error. */
const MAX_ANSWER_BYTES = 1024 * 1024
