import { connect, type Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { onAbort } from "../../../../lib/abort.ts"
import { serverNameOf } from "../address.ts"
import { type ConnectOptions, defaultConnectTimeoutMs, limitConnect } from "../connect-limit.ts"
import type { Route } from "../route.ts"
import type { Reading } from "./connections.ts"

/** Opens the sockets of one transport. */
export class SocketOpener {
  readonly #timeoutMs: number
  readonly #certificates: Omit<ConnectOptions, "connectTimeoutMs">
  /** TLS sessions by host and port: shorten the handshake of the next connection. */
  readonly #sessions = new Map<string, Buffer>()

  constructor({ connectTimeoutMs = defaultConnectTimeoutMs, ...certificates }: ConnectOptions) {
    this.#timeoutMs = connectTimeoutMs
    this.#certificates = certificates
  }

  async open(route: Route, reading: Reading, signal: AbortSignal | undefined): Promise<Socket> {
    if (!route.isSecure) return this.#whenReady(connect({ onread: reading, ...route.address }), "connect", signal)
    const tunnel = await route.tunnel?.(this.#timeoutMs, signal)
    return this.#secure(route, reading, signal, tunnel)
  }

  /**
   * Resolves after the certificate check, so nothing is written before. TLS is loaded here: not every host needs it.
   */
  async #secure(
    { address }: Route,
    reading: Reading,
    signal: AbortSignal | undefined,
    tunnel: Socket | undefined,
  ): Promise<Socket> {
    const tls = await import("node:tls")
    const place = `${address.host}:${address.port}`
    const session = this.#sessions.get(place)
    const socket = tls.connect({
      ...this.#certificates,
      // In a tunnel too: the name that the certificate must match.
      ...address,
      ...(tunnel ? { socket: tunnel } : { onread: reading }),
      ALPNProtocols: ["http/1.1"],
      servername: serverNameOf(address),
      ...(session && { session }),
    })
    socket.on("session", (ticket: Buffer) => this.#remember(place, ticket))
    socket.on("error", () => this.#sessions.delete(place))
    if (tunnel) {
      tunnel.on("error", (error) => socket.destroy(error))
      // A nested socket does not use our buffer.
      socket.on("data", (bytes: Buffer) => reading.callback(bytes.length, bytes))
    }
    return this.#whenReady(socket, "secureConnect", signal)
  }

  #remember(place: string, ticket: Buffer): void {
    this.#sessions.delete(place)
    this.#sessions.set(place, ticket)
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= MAX_SESSIONS) return
      this.#sessions.delete(oldest)
    }
  }

  #whenReady<S extends Socket | TLSSocket>(
    socket: S,
    event: "connect" | "secureConnect",
    signal: AbortSignal | undefined,
  ): Promise<S> {
    socket.setNoDelay(true)
    // A model may think for longer than network devices remember an idle connection.
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    limitConnect(socket, event, this.#timeoutMs)
    return new Promise((resolve, reject) => {
      let cause: unknown
      const onClose = () => {
        unlink()
        reject(cause)
      }
      const unlink = onAbort(signal, () => socket.destroy())
      // Stays attached: until the connection takes over the socket, an error would have no listener.
      socket.on("error", (error) => {
        cause = error
      })
      socket.on("close", onClose)
      socket.once(event, () => {
        unlink()
        socket.off("close", onClose)
        resolve(socket)
      })
    })
  }
}

const KEEP_ALIVE_MS = 60_000
const MAX_SESSIONS = 100
