import type { AgentOptions, ClientRequest, RequestOptions } from "node:http"
import { LonghaulError } from "../../contract/error.ts"

/** Where requests to one URL go; its address is taken apart once. */
export interface Endpoint {
  /** What goes before a request's own headers, as a list. */
  readonly headers: readonly string[]
  open(headers: readonly string[], signal: AbortSignal | undefined): ClientRequest
  /** The connection was refused, reset or cut. */
  failed(cause: unknown): LonghaulError
  /** What a status means that is not the server's but that of somebody on the way. */
  refusal?(status: number): LonghaulError | undefined
}

/** Node would keep 256 idle connections to a host: of a thousand runs, most would connect anew for each turn. */
export const pool: AgentOptions = { keepAlive: true, maxFreeSockets: Number.POSITIVE_INFINITY }

export function addressOf({ hostname, port }: URL): RequestOptions {
  return { hostname: hostname.replace(/^\[|\]$/g, ""), ...(port !== "" && { port }) }
}

export function connectionFailed(peer: string, cause: unknown, fix?: string): LonghaulError {
  const reason = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : ""
  const details = { cause, ...(fix !== undefined && { fix }) }
  return new LonghaulError("network", `The connection to ${peer} failed${reason}.`, details)
}
