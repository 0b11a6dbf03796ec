import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { checkArgument, checkShape } from "../../../lib/schema/shape.ts"

export type FetchHandler = (request: Request) => Response | Promise<Response>

export interface ServeOptions {
  /** Default 0: any free one. */
  readonly port?: number
  /** Default `127.0.0.1`. */
  readonly host?: string
}

export interface Served {
  /** Without a trailing slash. */
  readonly url: string
  readonly port: number
  /** Accepts no further connections and ends the existing ones, even in the middle of a response. */
  close(): Promise<void>
}

/**
 * Serves a fetch handler. A client that disconnects aborts `request.signal` and cancels the response's body; a body
 * that errors resets the connection, since a started response cannot be taken back otherwise.
 */
export async function serve(handler: FetchHandler, options: ServeOptions = {}): Promise<Served> {
  checkArgument("handler", handler, "function")
  checkShape<ServeOptions>("serve", options, { port: "number", host: "text" })
  const { port = 0, host = "127.0.0.1" } = options
  // Imported here, since most importers of this folder serve nothing.
  const { createServer } = await import("node:http")
  const server = createServer((incoming, outgoing) => {
    void exchange(handler, incoming, outgoing)
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, host, () => {
      server.off("error", reject)
      resolve()
    })
  })
  // A listening TCP server always has an address of this shape.
  const address = server.address() as AddressInfo
  const shownHost = address.family === "IPv6" ? `[${address.address}]` : address.address
  return {
    url: `http://${shownHost}:${address.port}`,
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function exchange(handler: FetchHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController()
  // A write that races with the client's disconnect; `close` follows and reports it.
  outgoing.on("error", () => {})
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort(new DOMException("The client disconnected", "AbortError"))
    // Unread data of the request must not precede the next one.
    incoming.resume()
  })
  const request = toRequest(incoming, outgoing, gone.signal)
  if (request === undefined) return endWith(outgoing, 400)
  openRequests.add(request)
  outgoing.once("close", () => openRequests.delete(request))
  let body: Body | undefined
  try {
    const response = await handler(request)
    body = response.body?.getReader()
    outgoing.writeHead(response.status, headersOf(response))
  } catch {
    return endWith(outgoing, 500)
  }
  if (body === undefined) outgoing.end()
  else if (incoming.method === "HEAD") discard(body, () => outgoing.end())
  else await send(body, outgoing, gone.signal)
}

/**
 * The requests whose exchanges have not ended. A request's signal is aborted only while the request exists, and a handler may keep
 * nothing but the signal.
 */
const openRequests = new Set<Request>()

type Body = ReadableStreamDefaultReader<Uint8Array>

function toRequest(incoming: IncomingMessage, outgoing: ServerResponse, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "/", rawHeaders } = incoming
  const headers: [string, string][] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.push([rawHeaders[index] ?? "", rawHeaders[index + 1] ?? ""])
  }
  const hasBody = method !== "GET" && method !== "HEAD"
  try {
    if (!url.startsWith("/")) return undefined
    const { host = "localhost" } = incoming.headers
    // A host such as `x/admin?` would change the path.
    if (!/^[A-Za-z0-9._~-]*(:\d*)?$|^\[[0-9A-Fa-f:.]+\](:\d*)?$/.test(host)) return undefined
    // Joined as text: `new URL(path, base)` would let a path of `//elsewhere` change the host.
    return new Request(`http://${host}${url}`, {
      method,
      headers,
      signal,
      ...(hasBody && { body: bodyOf(incoming, outgoing), duplex: "half" }),
    })
  } catch {
    return undefined
  }
}

/** Reads from the socket only on demand. Ends with the exchange. */
function bodyOf(incoming: IncomingMessage, outgoing: ServerResponse): ReadableStream<Uint8Array> {
  let settled = false
  return new ReadableStream(
    {
      start(controller) {
        const settle = (last: () => void) => {
          if (!settled) last()
          settled = true
        }
        incoming.on("data", (chunk: Uint8Array) => {
          if (settled) return
          incoming.pause()
          controller.enqueue(chunk)
        })
        incoming.pause()
        incoming.once("end", () => settle(() => controller.close()))
        incoming.once("error", (error) => settle(() => controller.error(error)))
        outgoing.once("close", () => settle(() => controller.error(new Error("The exchange has ended"))))
      },
      pull() {
        incoming.resume()
      },
      cancel() {
        settled = true
      },
    },
    { highWaterMark: 0 },
  )
}

async function send(body: Body, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  const stop = () => discard(body)
  if (signal.aborted) return stop()
  signal.addEventListener("abort", stop)
  // The head is sent with the first bytes if they are available, otherwise alone.
  const flush = setImmediate(() => outgoing.flushHeaders())
  try {
    for (let part = await body.read(); !part.done && !signal.aborted; part = await body.read()) {
      clearImmediate(flush)
      if (!outgoing.write(part.value)) await drained(outgoing, signal)
    }
    if (!signal.aborted) outgoing.end()
  } catch {
    reset(outgoing)
  } finally {
    clearImmediate(flush)
    signal.removeEventListener("abort", stop)
  }
}

function discard(body: Body, then?: () => void): void {
  body
    .cancel()
    .catch(() => {})
    .finally(then)
}

function headersOf(response: Response): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.fromEntries(response.headers)
  const cookies = response.headers.getSetCookie()
  return cookies.length > 0 ? { ...headers, "set-cookie": cookies } : headers
}

function drained(outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off("drain", settle)
      signal.removeEventListener("abort", settle)
      resolve()
    }
    outgoing.on("drain", settle)
    signal.addEventListener("abort", settle)
    if (signal.aborted) settle()
  })
}

/** Only after everything written before has been sent: a reset discards the rest. */
function reset(outgoing: ServerResponse): void {
  const { socket } = outgoing
  outgoing.flushHeaders()
  socket?.write("", () => socket.resetAndDestroy())
}

function endWith(outgoing: ServerResponse, status: 400 | 500): void {
  outgoing.writeHead(status, { "content-type": "text/plain" })
  outgoing.end(status === 400 ? "Bad Request" : "Internal Server Error")
}
