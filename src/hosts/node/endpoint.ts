import { LonghaulError } from "../../contract/error.ts"
import { type Connect, ConnectionPool } from "./connections.ts"

/** Where requests to one URL go; its address is taken apart once. */
export interface Endpoint {
  readonly pool: ConnectionPool
  /** What every request begins with: its line, and the headers that lead it on its way. */
  readonly head: string
  /** The connection was refused, reset or cut. */
  failed(cause: unknown): LonghaulError
  /** What a status means that is not the server's but that of somebody on the way. */
  refusal?(status: number): LonghaulError | undefined
}

/** `target` as it stands in the request line. */
export function requestHead(target: string, host: string, more = ""): string {
  return `POST ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${more}`
}

/** One pool for each way to a place, for all transports of the process. */
export function poolOf(way: string, connect: Connect): ConnectionPool {
  let pool = pools.get(way)
  if (pool === undefined) {
    pool = new ConnectionPool(connect)
    pools.set(way, pool)
  }
  return pool
}

const pools = new Map<string, ConnectionPool>()

export function connectionFailed(peer: string, cause: unknown, fix?: string): LonghaulError {
  const reason = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : ""
  const details = { cause, ...(fix !== undefined && { fix }) }
  return new LonghaulError("network", `The connection to ${peer} failed${reason}.`, details)
}
