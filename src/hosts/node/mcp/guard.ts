import { createHash, timingSafeEqual } from "node:crypto"
import { hostname, networkInterfaces } from "node:os"
import { StartupError } from "../../../contract/error.ts"
import type { McpSdk } from "./server.ts"

export interface McpGuardOptions {
  /** The bearer token that every request needs. */
  readonly token: string
  /** The listening address. */
  readonly host: string
}

/** The response to a rejected request; undefined: it may be served. The body is not read. */
export function createMcpGuard(
  sdk: McpSdk,
  { token, host }: McpGuardOptions,
): (request: Request) => Response | undefined {
  if (token === "") throw new StartupError("The MCP server has no token.", { fix: "Pass `token`." })
  const names = servedNames(host)
  const expected = digest(token)
  return (request) =>
    // A page with a rebound DNS name still sends that name.
    sdk.hostHeaderValidationResponse(request, names) ??
    sdk.originValidationResponse(request, names) ??
    (timingSafeEqual(digest(bearerOf(request)), expected) ? undefined : unauthorized())
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host)
}

/** The names by which a client may call a server at that address. */
function servedNames(host: string): string[] {
  const isEverywhere = host === "0.0.0.0" || host === "::"
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? [])
  const here = ["localhost", "127.0.0.1", "::1"]
  const names = [...here, ...(isEverywhere ? [hostname(), ...addresses] : [host])]
  return names.map((name) => (name.includes(":") ? `[${name}]` : name.toLowerCase()))
}

function bearerOf(request: Request): string {
  return /^bearer +(\S+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? ""
}

/** Equal lengths, so that comparison takes constant time. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest()
}

function unauthorized(): Response {
  return Response.json(
    { jsonrpc: "2.0", error: { code: -32_000, message: "The bearer token is missing or wrong." }, id: null },
    { status: 401, headers: { "www-authenticate": "Bearer" } },
  )
}
