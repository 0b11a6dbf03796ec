import type { McpRemote } from "../../contract/mcp.ts"

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * The requests of a server's connection: with its headers, those of its provider, and one more try after a 401. A server
 * without streams of its own is never asked for one.
 */
export function serverFetch(
  { headersProvider, preferBindingTransport }: Pick<McpRemote, "headersProvider" | "preferBindingTransport">,
  fetch: Fetch,
): Fetch {
  return async (url, init = {}) => {
    if (preferBindingTransport && init.method === "GET") return new Response(null, { status: 405 })
    const send = async () =>
      fetch(url, headersProvider ? { ...init, headers: withHeaders(init, await headersProvider()) } : init)
    const response = await send()
    if (response.status !== 401 || headersProvider === undefined) return response
    await response.body?.cancel()
    return send()
  }
}

function withHeaders({ headers }: RequestInit, provided: Readonly<Record<string, string>>): Headers {
  const merged = new Headers(headers)
  for (const [name, value] of Object.entries(provided)) merged.set(name, value)
  return merged
}
