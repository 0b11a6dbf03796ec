import type { McpRemote } from "../../contract/mcp.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface ServerFetchOptions extends Pick<McpRemote, "headersProvider" | "preferBindingTransport"> {
  /** Gets the secrets of each request: some are known only now. */
  seen(secrets: readonly string[]): void
}

/**
 * The requests of a server's connection: with its headers, those of its provider, and one more try after a 401. A server
 * without streams of its own is never asked for one.
 */
export function serverFetch(
  { headersProvider, preferBindingTransport, seen }: ServerFetchOptions,
  fetch: Fetch,
): Fetch {
  return async (url, init = {}) => {
    if (preferBindingTransport && init.method === "GET") return new Response(null, { status: 405 })
    const send = async () => {
      const headers = new Headers(init.headers)
      for (const [name, value] of Object.entries((await headersProvider?.()) ?? {})) headers.set(name, value)
      seen(Object.values(credentialsOf(String(url), Object.fromEntries(headers))))
      return fetch(url, { ...init, headers })
    }
    const response = await send()
    if (response.status !== 401 || headersProvider === undefined) return response
    await response.body?.cancel()
    return send()
  }
}
