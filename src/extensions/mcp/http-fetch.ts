import { LonghaulError } from "../../contract/error.ts"
import type { McpRemote } from "../../contract/mcp.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface ServerFetchOptions
  extends Pick<McpRemote, "url" | "headers" | "headersProvider" | "preferBindingTransport"> {
  /** Ends requests that have no signal of their own, such as those for a token. */
  readonly signal?: AbortSignal
  /** Gets each secret of a request: some are known only now. */
  seen(name: string, secret: string): void
  /** Sends a request that exchanges a refresh token for new tokens. */
  refresh?(token: string, send: () => Promise<Response>): Promise<Response>
  /** Gets the server's own answers 401 and 403. Throws if nothing more can be tried. */
  refused?(response: Response): Promise<void>
}

/**
 * The requests of a server's connection: with its headers, those of its provider, and one more try after a 401. Another origin,
 * such as an authorization server that it names, gets none of them. A server without streams of its own is never asked for one.
 */
export function serverFetch(options: ServerFetchOptions, fetch: Fetch): Fetch {
  const { headersProvider, preferBindingTransport, signal, seen, refresh, refused } = options
  const { origin } = new URL(options.url)
  return async (url, init = {}) => {
    if (preferBindingTransport && init.method === "GET") return new Response(null, { status: 405 })
    const isOwn = new URL(url).origin === origin
    const send = async () => {
      const provided = isOwn ? await headersProvider?.() : undefined
      const headers = joined(isOwn ? options.headers : undefined, init.headers, provided)
      const secrets = credentialsOf(String(url), Object.fromEntries(headers))
      for (const [name, secret] of Object.entries(secrets)) seen(name, secret)
      return bounded(await fetch(url, { ...(signal && { signal }), ...init, headers }))
    }
    const token = refreshToken(init)
    if (token !== undefined && refresh) return refresh(token, send)
    const response = await send()
    if (isOwn && [401, 403].includes(response.status)) await refused?.(response)
    if (response.status !== 401 || headersProvider === undefined || !isOwn) return response
    await response.body?.cancel()
    return send()
  }
}

function refreshToken({ method, body }: RequestInit): string | undefined {
  if (method !== "POST" || !(typeof body === "string" || body instanceof URLSearchParams)) return undefined
  const parameters = new URLSearchParams(String(body))
  return parameters.get("grant_type") === "refresh_token" ? (parameters.get("refresh_token") ?? undefined) : undefined
}

/** The same response, whose body fails once a message in it is too long to be kept in memory. */
function bounded(response: Response): Response {
  if (response.body === null) return response
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false
  let length = 0
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const end = isStream ? lastEventEnd(chunk) : -1
        length = end === -1 ? length + chunk.length : chunk.length - end
        if (length > MAX_MESSAGE_BYTES) {
          throw new LonghaulError("network", `The server sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`)
        }
        controller.enqueue(chunk)
      },
    }),
  )
  const copy = new Response(body, response)
  // The address after redirects, which a new response does not have.
  Object.defineProperty(copy, "url", { value: response.url })
  return copy
}

/** Where the last event that ends in a chunk of a stream ends, or -1. */
function lastEventEnd(chunk: Uint8Array): number {
  for (let at = chunk.length - 1; at > 0; at--) {
    if (chunk[at] !== NEWLINE) continue
    if (chunk[at - 1] === NEWLINE || (chunk[at - 1] === RETURN && chunk[at - 2] === NEWLINE)) return at + 1
  }
  return -1
}

const NEWLINE = 10
const RETURN = 13
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024

/** Later ones take precedence. */
function joined(
  ...sources: readonly (RequestInit["headers"] | Readonly<Record<string, string>> | undefined)[]
): Headers {
  const all = new Headers()
  for (const source of sources) for (const [name, value] of new Headers(source)) all.set(name, value)
  return all
}
