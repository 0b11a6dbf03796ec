import type { Socket } from "node:net"
import type { SecureContextOptions } from "node:tls"
import { LonghaulError } from "../../../contract/error.ts"
import { checkShape, type Field, having, listOf, required, type Shape } from "../../../lib/schema/shape.ts"

/** Connection options. `ca`, `cert` and `key` as in Node: trusted authorities, and the client's certificate. */
export interface ConnectOptions extends Pick<SecureContextOptions, "ca" | "cert" | "key"> {
  /** Timeout of a new connection, including TLS. Default 10,000. */
  readonly connectTimeoutMs?: number
}

export const defaultConnectTimeoutMs = 10_000

/** Throws `config_invalid` for invalid options. `own`: options of this transport only. */
export function checkConnectOptions(
  transport: string,
  options: ConnectOptions,
  own: Readonly<Record<string, Field>> = {},
): void {
  checkShape<unknown>(transport, options, { ...connectShape, ...own })
  const { connectTimeoutMs = defaultConnectTimeoutMs } = options
  if (connectTimeoutMs >= 1 && connectTimeoutMs <= MAX_TIMER_MS) return
  throw new LonghaulError("config_invalid", `Invalid connectTimeoutMs: ${connectTimeoutMs}.`, {
    fix: "Use a number of milliseconds, 1 or more.",
  })
}

const certificate = ["text", "bytes", listOf(["text", "bytes"])] as const
const connectShape: Shape<ConnectOptions> = {
  ca: certificate,
  cert: certificate,
  key: ["text", "bytes", listOf(["text", "bytes", having({ pem: required(["text", "bytes"]), passphrase: "text" })])],
  connectTimeoutMs: "number",
}

/** Node's timers fire immediately for anything longer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Destroys a socket that does not connect in time. */
export function limitConnect(socket: Socket, connected: "connect" | "secureConnect", timeoutMs: number): void {
  const timer = setTimeout(() => socket.destroy(connectTimeout(timeoutMs)), timeoutMs)
  const stop = () => clearTimeout(timer)
  socket.once(connected, stop)
  socket.once("close", stop)
}

export function connectTimeout(timeoutMs: number): Error {
  return Object.assign(new Error(`No connection within ${timeoutMs} ms.`), { code: "ETIMEDOUT" })
}
