import { once } from "node:events"
import http, { type IncomingMessage, type ServerResponse } from "node:http"
import https from "node:https"
import net, { type AddressInfo, type Server } from "node:net"
import type { Duplex } from "node:stream"
import { selfSigned } from "./self-signed.ts"

export const certificate = selfSigned()

const servers = new Set<Server>()

export function stopServers(): void {
  for (const server of servers) {
    server.close()
    if (server instanceof http.Server || server instanceof https.Server) server.closeAllConnections()
  }
  servers.clear()
}

/** Echoes its request. */
export async function startTarget(module: typeof http | typeof https) {
  const authorizations: (string | undefined)[] = []
  let connections = 0
  const server = (module as typeof https).createServer(
    certificate,
    (request: IncomingMessage, response: ServerResponse) => {
      authorizations.push(request.headers["proxy-authorization"])
      response.write(`${request.method} ${request.url} ${request.headers["x-kind"]} `)
      request.pipe(response)
    },
  )
  server.keepAliveTimeout = 0
  server.on("connection", () => connections++)
  return { server, port: await listen(server), authorizations, connections: () => connections }
}

interface ProxyOptions {
  readonly secure?: boolean
  readonly refuse?: number
  /** The required `user:password`. */
  readonly login?: string
}

/** Forwards requests and tunnels, and records each. */
export async function startProxy({ secure = false, refuse, login }: ProxyOptions = {}) {
  const seen: string[] = []
  const tunnels: Duplex[] = []
  let connections = 0
  const statusOf = ({ method, url, headers }: IncomingMessage): number | undefined => {
    const given = headers["proxy-authorization"]
    seen.push(`${method} ${url} ${given ?? "-"}`)
    if (login !== undefined && given !== `Basic ${Buffer.from(login).toString("base64")}`) return 407
    return refuse
  }
  const server = secure ? https.createServer(certificate) : http.createServer()
  server.keepAliveTimeout = 0
  server.on("connection", () => connections++)
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const status = statusOf(request)
    if (status !== undefined) return response.writeHead(status).end("no")
    const { "proxy-authorization": _, ...headers } = request.headers
    const onward = http.request(request.url as string, { method: request.method ?? "", headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0)
      answer.pipe(response)
    })
    return request.pipe(onward)
  })
  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => {})
    const status = statusOf(request)
    if (status !== undefined) return socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 2\r\n\r\nno`)
    const [, host, port] = /^(.*):(\d+)$/.exec(request.url as string) as unknown as [string, string, string]
    const onward = net.connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
      onward.pipe(socket).pipe(onward)
    })
    onward.on("error", () => socket.destroy())
    tunnels.push(socket)
    return undefined
  })
  const port = await listen(server)
  return { url: `${secure ? "https" : "http"}://127.0.0.1:${port}`, seen, tunnels, connections: () => connections }
}

/** Until `stopServers`, at a free local port. */
export async function listen(server: Server, address = "127.0.0.1"): Promise<number> {
  servers.add(server)
  await once(server.listen(0, address), "listening")
  return (server.address() as AddressInfo).port
}
