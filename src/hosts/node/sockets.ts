import { connect, isIP, type Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { onAbort } from "../../lib/abort.ts"
import type { Reading } from "./connections.ts"

export interface Address {
  readonly host: string
  readonly port: number
}

export function addressOf({ hostname, port, protocol }: URL): Address {
  const host = hostname.replace(/^\[|\]$/g, "")
  return { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) }
}

export function plainSocket(address: Address, reading: Reading, signal: AbortSignal | undefined): Promise<Socket> {
  return whenReady(connect({ onread: reading, ...address }), "connect", signal)
}

/**
 * Ready when the certificate was checked, so nothing is written before. TLS is loaded here: it is a third of what the
 * transport would cost to import, and not everybody needs it.
 */
export async function secureSocket(
  address: Address,
  reading: Reading,
  signal: AbortSignal | undefined,
  tunnel?: Socket,
): Promise<Socket> {
  const tls = await import("node:tls")
  const place = `${address.host}:${address.port}`
  const session = sessions.get(place)
  const socket = tls.connect({
    // In a tunnel too: whom the certificate must name.
    ...address,
    ...(tunnel ? { socket: tunnel } : { onread: reading }),
    ALPNProtocols: ["http/1.1"],
    ...(isIP(address.host) === 0 && { servername: address.host }),
    ...(session && { session }),
  })
  socket.on("session", (ticket: Buffer) => sessions.set(place, ticket))
  socket.on("error", () => sessions.delete(place))
  if (tunnel) {
    tunnel.on("error", (error) => socket.destroy(error))
    // A socket within another one takes no buffer of ours.
    socket.on("data", (bytes: Buffer) => reading.callback(bytes.length, bytes))
  }
  return whenReady(socket, "secureConnect", signal)
}

/** What lets the next connection to a place do without the longer half of the handshake. */
const sessions = new Map<string, Buffer>()

function whenReady<S extends Socket | TLSSocket>(
  socket: S,
  event: "connect" | "secureConnect",
  signal: AbortSignal | undefined,
): Promise<S> {
  socket.setNoDelay(true)
  // A model may think for longer than the devices on the way remember a silent connection.
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  return new Promise((resolve, reject) => {
    let cause: unknown
    const onError = (error: unknown) => {
      cause = error
    }
    const onClose = () => {
      unlink()
      reject(cause)
    }
    const unlink = onAbort(signal, () => socket.destroy())
    socket.on("error", onError)
    socket.on("close", onClose)
    socket.once(event, () => {
      unlink()
      socket.off("error", onError)
      socket.off("close", onClose)
      resolve(socket)
    })
  })
}

const KEEP_ALIVE_MS = 60_000
