import { LonghaulError } from "../../contract/error.ts"
import { delay } from "../../lib/abort.ts"
import { createRetry } from "../../lib/retry.ts"
import { refused, type S3Response, unanswered } from "./failure.ts"
import type { ResolvedOptions } from "./options.ts"

export interface Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"
  /** Absent: the request is for the bucket itself. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

/** Sends one signed request, once. Throws `storage` for every response status that is neither a success nor `expected`. */
export type Call = (doing: string, request: Request, expected?: readonly number[]) => Promise<S3Response>

export function createClient(options: ResolvedOptions): Call {
  const { address, region, accessKeyId, secretAccessKey, sessionToken } = options
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
  const cache = new Map<string, ArrayBuffer>()
  return async (doing, { method, key, query, headers, body }, expected = []) => {
    const url = `${address}${key === undefined ? "" : `/${encodedKey(key)}`}${encodedQuery(query)}`
    // Loaded with the first request, so that programs that do not use the store need not load it.
    const { AwsV4Signer } = await import("aws4fetch")
    const signer = new AwsV4Signer({
      method,
      url,
      // The signature covers body and condition, so the store notices if either is lost in transit.
      headers: { ...headers, "x-amz-content-sha256": await digest(body ?? new Uint8Array()) },
      service: "s3",
      region,
      cache,
      ...credentials,
    })
    const signed = await signer.sign()
    const answer = await exchange(doing, options, url, {
      method,
      headers: signed.headers,
      redirect: "manual",
      // Safe: our bytes are never in shared memory.
      ...(body && { body: body as Uint8Array<ArrayBuffer> }),
    })
    if ((answer.status >= 200 && answer.status < 300) || expected.includes(answer.status)) return answer
    throw refused(doing, answer)
  }
}

/** Retries a few times if the error is retryable. Only for idempotent requests. */
export async function patiently<T>(work: () => Promise<T>, attempts = 4): Promise<T> {
  const retry = createRetry({ attempts, firstMs: 100, longestMs: 1000 })
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const wait = LonghaulError.is(error) ? retry.delayAfter(error) : null
      if (wait === null) throw error
      await delay(wait)
    }
  }
}

async function exchange(
  doing: string,
  { fetch, timeoutMs }: ResolvedOptions,
  url: string,
  init: RequestInit & { readonly body?: Uint8Array<ArrayBuffer> },
): Promise<S3Response> {
  const abort = new AbortController()
  const allow = (bytes: number) =>
    setTimeout(() => abort.abort(new DOMException("", "TimeoutError")), timeoutMs + bytes / SLOWEST_BYTES_PER_MS)
  let timer = allow(init.body?.length ?? 0)
  try {
    const response = await fetch(url, { ...init, signal: abort.signal })
    const length = Number(response.headers.get("content-length") ?? Number.NaN)
    clearTimeout(timer)
    timer = allow(length || 0)
    const body = new Uint8Array(await response.arrayBuffer())
    // Not every fetch detects a truncated body. The length of a compressed body differs, so it is not checked.
    const isCut = !response.headers.has("content-encoding") && length > body.length && init.method !== "HEAD"
    if (isCut) throw new Error(`${body.length} of ${length} bytes received`)
    return { status: response.status, body, header: (name) => response.headers.get(name) }
  } catch (cause) {
    throw unanswered(doing, abort.signal.aborted ? abort.signal.reason : cause)
  } finally {
    clearTimeout(timer)
  }
}

/** 256 KB per second: slower transfers time out. */
const SLOWEST_BYTES_PER_MS = 256

/** Rejects keys with parts that a URL normalizes away, because the request would reach another key. */
function encodedKey(key: string): string {
  return key
    .split("/")
    .map((part) => {
      if (part !== "" && part !== "." && part !== "..") return encoded(part)
      throw new LonghaulError("storage", `${JSON.stringify(key)} cannot be a key.`, { retryable: false })
    })
    .join("/")
}

function encodedQuery(query: Request["query"]): string {
  if (query === undefined) return ""
  return `?${Object.entries(query)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .join("&")}`
}

/** Encodes as signatures require it, including characters that `encodeURIComponent` leaves unchanged. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

async function digest(bytes: Uint8Array): Promise<string> {
  // Safe: our bytes are never in shared memory.
  const hash = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("")
}
