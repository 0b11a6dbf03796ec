import type { McpRemote } from "../../contract/mcp.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface ServerFetchOptions
  extends Pick<McpRemote, "url" | "headers" | "headersProvider" | "preferBindingTransport"> {
  /** Gets the secrets of each request: some are known only now. */
  seen(secrets: readonly string[]): void
}

/**
 * The requests of a server's connection: with its headers, those of its provider, and one more try after a 401. Another origin,
 * such as an authorization server that it names, gets none of them. A server without streams of its own is never asked for one.
 */
export function serverFetch(options: ServerFetchOptions, fetch: Fetch): Fetch {
  const { headersProvider, preferBindingTransport, seen } = options
  const { origin } = new URL(options.url)
  return async (url, init = {}) => {
    if (preferBindingTransport && init.method === "GET") return new Response(null, { status: 405 })
    const isOwn = new URL(url).origin === origin
    const send = async () => {
      const provided = isOwn ? await headersProvider?.() : undefined
      const headers = joined(isOwn ? options.headers : undefined, init.headers, provided)
      seen(Object.values(credentialsOf(String(url), Object.fromEntries(headers))))
      return fetch(url, { ...init, headers })
    }
    const response = await send()
    if (response.status !== 401 || headersProvider === undefined || !isOwn) return response
    await response.body?.cancel()
    return send()
  }
}

/** Later ones take precedence. */
function joined(
  ...sources: readonly (RequestInit["headers"] | Readonly<Record<string, string>> | undefined)[]
): Headers {
  const all = new Headers()
  for (const source of sources) for (const [name, value] of new Headers(source)) all.set(name, value)
  return all
}
