import type { Socket } from "node:net"
import type { SecureContextOptions } from "node:tls"
import { LonghaulError } from "../../../contract/error.ts"
import { checkKeys, keys } from "../../../lib/known-keys.ts"

/** How a transport connects. `ca`, `cert` and `key` are Node's: authorities to trust, and the client's certificate. */
export interface ConnectOptions extends Pick<SecureContextOptions, "ca" | "cert" | "key"> {
  /** How long a new connection may take, TLS included. Default 10,000. */
  readonly connectTimeoutMs?: number
}

export const defaultConnectTimeoutMs = 10_000

/** Throws `config_invalid` for options that cannot work. `own`: those that only this transport has. */
export function checkConnectOptions(transport: string, options: ConnectOptions, own: readonly string[] = []): void {
  checkKeys(transport, options, [...connectKeys, ...own])
  const { connectTimeoutMs = defaultConnectTimeoutMs } = options
  if (connectTimeoutMs >= 1 && connectTimeoutMs <= LONGEST_TIMER_MS) return
  throw new LonghaulError("config_invalid", `Invalid connectTimeoutMs: ${connectTimeoutMs}.`, {
    fix: "Use a number of milliseconds, 1 or more.",
  })
}

const connectKeys = keys<ConnectOptions>()("ca", "cert", "key", "connectTimeoutMs")

/** Node's timers fire at once for anything longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Destroys a socket that is not connected in time. */
export function limitConnect(socket: Socket, connected: "connect" | "secureConnect", timeoutMs: number): void {
  const timer = setTimeout(() => socket.destroy(connectTimeout(timeoutMs)), timeoutMs)
  const stop = () => clearTimeout(timer)
  socket.once(connected, stop)
  socket.once("close", stop)
}

export function connectTimeout(timeoutMs: number): Error {
  return Object.assign(new Error(`No connection within ${timeoutMs} ms.`), { code: "ETIMEDOUT" })
}
