import type { Server } from "@modelcontextprotocol/server"
import type { McpSdk } from "./server.ts"

export interface McpSessionsOptions {
  /** Maximum number of clients. A further one replaces an idle one, if any. */
  readonly maxSessions: number
  /** A session without an open request is closed after this many milliseconds. */
  readonly idleMs: number
  readonly maxBodyBytes: number
}

export interface McpSessions {
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

/**
 * Clients of protocols before 2026-07-28: they open a session, and cancellations refer to it. A client may disappear
 * without notice, and a broken response is not a cancellation: its session ends after the idle time.
 */
export function createMcpSessions(sdk: McpSdk, createServer: () => Server, options: McpSessionsOptions): McpSessions {
  const sessions = new Map<string, Session>()
  let opening = 0
  const isFull = () => sessions.size + opening >= options.maxSessions

  async function admit(request: Request): Promise<Response> {
    if (isFull()) await findIdle(sessions)?.server.close()
    if (isFull()) return refused(503, "Too many sessions are open.")
    opening += 1
    try {
      return await openSession(request)
    } finally {
      opening -= 1
    }
  }

  async function openSession(request: Request): Promise<Response> {
    const server = createServer()
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, session),
      maxRequestBodySize: options.maxBodyBytes,
    })
    const session: Session = { server, transport, open: 0, idleTimer: undefined }
    server.onclose = () => {
      clearTimeout(session.idleTimer)
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
    }
    await server.connect(transport)
    const response = await exchange(session, request)
    if (transport.sessionId === undefined) await server.close()
    return response
  }

  async function exchange(session: Session, request: Request): Promise<Response> {
    clearTimeout(session.idleTimer)
    session.open += 1
    const over = () => {
      session.open -= 1
      if (session.open > 0 || sessions.get(session.transport.sessionId ?? "") !== session) return
      session.idleTimer = setTimeout(() => void session.server.close(), options.idleMs)
      // Does not keep the process alive.
      session.idleTimer.unref()
    }
    try {
      const response = await session.transport.handleRequest(request)
      if (response.body === null) over()
      return response.body === null ? response : new Response(watched(response.body, over), response)
    } catch (error) {
      over()
      throw error
    }
  }

  return {
    async fetch(request) {
      const id = request.headers.get("mcp-session-id")
      if (id === null) return admit(request)
      const session = sessions.get(id)
      return session === undefined ? refused(404, "Session not found") : exchange(session, request)
    },
    async close() {
      await Promise.all(Array.from(sessions.values(), ({ server }) => server.close()))
    },
  }
}

interface Session {
  readonly server: Server
  readonly transport: InstanceType<McpSdk["WebStandardStreamableHTTPServerTransport"]>
  /** Requests whose response is not complete. */
  open: number
  idleTimer: NodeJS.Timeout | undefined
}

/** The session that has been idle longest. */
function findIdle(sessions: ReadonlyMap<string, Session>): Session | undefined {
  return [...sessions.values()].find(({ open }) => open === 0)
}

/** The same bytes; `over` is called once, when they have ended or were cancelled. */
function watched(body: ReadableStream<Uint8Array>, over: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  reader.closed.then(over, over)
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

function refused(status: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status })
}
