import { type Served, serve } from "../http/serve.ts"
import { createMcpGuard } from "./guard.ts"
import { createMcpServer, type McpIdentity, type McpTools } from "./server.ts"
import { createMcpSessions } from "./sessions.ts"

export interface McpHttpOptions extends McpIdentity {
  /** The bearer token that every request needs. */
  readonly token: string
  /** The listening address. Default `127.0.0.1`. */
  readonly host?: string
  /** Default 0: any free one. */
  readonly port?: number
  /** Maximum number of clients with a session. Default 64. */
  readonly maxSessions?: number
  /** Idle time of a session without an open request. Default 10 minutes. */
  readonly idleMs?: number
  /** Maximum bytes of one request. Default 10 MB, as over stdio. */
  readonly maxBodyBytes?: number
}

export interface McpHandler {
  fetch(request: Request): Promise<Response>
  /** Aborts active calls. */
  close(): Promise<void>
}

/** Streamable HTTP at `/mcp`, for clients with sessions and for the sessionless protocol. */
export async function serveMcpHttp(tools: McpTools, options: McpHttpOptions): Promise<Served> {
  const handler = await createMcpHandler(tools, options)
  const { host, port } = options
  const served = await serve(handler.fetch, { ...(host && { host }), ...(port && { port }) })
  return {
    url: `${served.url}/mcp`,
    port: served.port,
    async close() {
      await served.close()
      await handler.close()
    },
  }
}

/** The same without a socket. */
export async function createMcpHandler(tools: McpTools, options: McpHttpOptions): Promise<McpHandler> {
  const { token, host = "127.0.0.1", maxSessions = 64, idleMs = 600_000, maxBodyBytes = 10 * 1024 ** 2 } = options
  const sdk = await import("@modelcontextprotocol/server")
  const createServer = () => createMcpServer(sdk, tools, options)
  const guard = createMcpGuard(sdk, { token, host })
  const sessions = createMcpSessions(sdk, createServer, { maxSessions, idleMs, maxBodyBytes })
  const sessionless = sdk.createMcpHandler(createServer, { legacy: "reject", maxRequestBodySize: maxBodyBytes })
  return {
    async fetch(request) {
      const refusal = guard(request)
      if (refusal !== undefined) return refusal
      if (new URL(request.url).pathname !== "/mcp") return new Response("Not Found", { status: 404 })
      const hasSession = await sdk.isLegacyRequest(request, undefined, { maxRequestBodySize: maxBodyBytes })
      return (hasSession ? sessions : sessionless).fetch(request)
    },
    async close() {
      await Promise.all([sessions.close(), sessionless.close()])
    },
  }
}
