import net, { type Server, type Socket } from "node:net"
import { afterEach } from "vitest"
import type { Transport } from "../../src/contract/provider.ts"
import { listen } from "./proxy-servers.ts"

export interface RawRequest {
  readonly head: string
  readonly body: Buffer
  /** Index of the connection. */
  readonly connection: number
  /** Index of the request. */
  readonly index: number
}

export type RawAnswer = (socket: Socket, request: RawRequest) => void

const sockets = new Set<Socket>()

afterEach(() => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
})

/** Reads whole requests from real sockets; the test controls the response and its chunking. */
export async function startRaw(
  answer: RawAnswer,
  { server = net.createServer(), event = "connection" } = {} as RawOptions,
) {
  const requests: RawRequest[] = []
  const connections: Socket[] = []
  server.on(event, (socket: Socket) => {
    const connection = connections.push(socket) - 1
    let received = Buffer.alloc(0)
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes])
      const end = received.indexOf("\r\n\r\n") + 4
      const head = received.toString("latin1", 0, end)
      const length = Number(/^content-length: (\d+)\r$/m.exec(head)?.[1])
      if (end === 3 || received.length < end + length) return
      const request = { head, body: received.subarray(end, end + length), connection, index: requests.length }
      received = received.subarray(end + length)
      requests.push(request)
      answer(socket, request)
    })
  })
  const port = await listen(server)
  return { port, url: `http://127.0.0.1:${port}/`, requests, connections }
}

interface RawOptions {
  readonly server?: Server
  /** For a TLS server: "secureConnection". */
  readonly event?: string
}

/** Also if it was reset. */
export function whenClosed(socket: Socket | undefined): Promise<void> {
  if (!socket) throw new Error("No such connection.")
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.once("close", () => resolve())
  })
}

interface Ask {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly signal?: AbortSignal
  /** Receives head and body as they arrive. */
  readonly heard?: (what: number | Uint8Array) => void
}

/** Sends a request and resolves with status and body. */
export function askOver(transport: Transport) {
  return (url: string, options: Ask = {}) => ask(transport, url, options)
}

async function ask(
  transport: Transport,
  url: string,
  { headers = {}, body = Buffer.from("asked"), signal, heard }: Ask,
): Promise<string> {
  let answer = ""
  await transport.stream(
    { url, headers, body, ...(signal && { signal }) },
    {
      head(status) {
        answer += `${status} `
        heard?.(status)
      },
      chunk(bytes) {
        answer += Buffer.from(bytes).toString("latin1")
        heard?.(bytes)
      },
    },
  )
  return answer
}
