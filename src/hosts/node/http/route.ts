import type { Socket } from "node:net"
import { LonghaulError } from "../../../contract/error.ts"
import { type Address, addressOf } from "./address.ts"

/** The route of requests to one URL: direct, or through a proxy. */
export interface Route {
  /** The peer of a connection: the server, or the proxy that forwards requests to it. */
  readonly address: Address
  /** True: the peer uses TLS. */
  readonly isSecure: boolean
  /** Opens the connection to a peer that only a proxy can reach. */
  readonly tunnel?: (timeoutMs: number, signal: AbortSignal | undefined) => Promise<Socket>
  /** The host and the target as the request names them. */
  readonly host: string
  readonly path: string
  /** Value of the header for the proxy; empty: none is sent. */
  readonly proxyAuthorization: string
  /** Equal for routes that may share connections. Contains the proxy's password: never shown. */
  readonly identity: string
  /** The connection was refused, reset or cut. */
  failed(cause: unknown): LonghaulError
  /** The failure for a status that comes from the proxy and not from the server. */
  refusal?(status: number): LonghaulError | undefined
}

/** The proxy variables at the time the transport was created. */
export interface ProxyVariables {
  /** For http targets. */
  readonly http: Variable | undefined
  /** For https targets. */
  readonly https: Variable | undefined
  /** Hosts that are reached directly. */
  readonly except: string
}

export interface Variable {
  readonly name: string
  readonly value: string
}

export function directRoute(target: URL): Route {
  return {
    address: addressOf(target),
    isSecure: target.protocol === "https:",
    host: target.host,
    path: target.pathname + target.search,
    proxyAuthorization: "",
    identity: target.origin,
    failed: (cause) => connectionFailed(target.host, cause),
  }
}

export function connectionFailed(peer: string, cause: unknown, fix?: string): LonghaulError {
  const reason = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : ""
  const details = { cause, ...(fix !== undefined && { fix }) }
  return new LonghaulError("network", `The connection to ${peer} failed${reason}.`, details)
}
