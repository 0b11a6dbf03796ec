import { lookup } from "node:dns/promises"
import http, { type IncomingMessage } from "node:http"
import https from "node:https"
import type { LookupFunction } from "node:net"
import type { FetchedBody } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { onAbort } from "../../../lib/abort.ts"
import { isPublicIp, parseIp } from "../../../lib/ip-address.ts"
import { isPrivateHost } from "../../../lib/target-host.ts"
import { addressOf } from "./address.ts"
import { acceptedEncodings, readBody } from "./fetch-body.ts"

/** The addresses of a name; throws where it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** One request, to one place. */
export interface Exchange {
  readonly url: URL
  /** Whether a host may be private. */
  isAllowed(url: URL): boolean
  /** Sent where `headers` have none. */
  readonly userAgent: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** A redirect that is to be followed, or the answer. */
export type Exchanged =
  | { readonly location: string }
  | { readonly location?: undefined; readonly body: Omit<FetchedBody, "url"> }

export async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address)
}

export async function exchange(request: Exchange, resolve: Resolve): Promise<Exchanged> {
  const { url, signal } = request
  const addresses = await checkedAddresses(request, resolve)
  // Not a packet for a run that has ended while the name was looked up.
  signal.throwIfAborted()
  let outgoing: http.ClientRequest | undefined
  const unlink = onAbort(signal, () => outgoing?.destroy())
  try {
    outgoing = send(request, addresses)
    const response = await answerTo(outgoing, request.body)
    const { statusCode: status = 0, headers } = response
    if (request.body === undefined && redirects.includes(status) && headers.location !== undefined) {
      return { location: headers.location }
    }
    const contentType = (headers["content-type"] ?? "").slice(0, 200)
    const retryAfter = headers["retry-after"]
    const told = { status, contentType, ...(retryAfter !== undefined && { retryAfter }) }
    return { body: { ...told, ...(await readBody(response, request.maxBytes)) } }
  } catch (error) {
    if (error instanceof ToolError) throw error
    throw new ToolError("io", `No usable response from ${url.host}${reasonOf(error)}.`, { cause: error })
  } finally {
    unlink()
    outgoing?.destroy()
  }
}

const redirects: readonly number[] = [301, 302, 303, 307, 308]

/** Where a host is, if it may be connected to. For an address in the URL no lookup is made: it is checked itself. */
async function checkedAddresses(request: Exchange, resolve: Resolve): Promise<readonly string[]> {
  const { url, signal } = request
  const name = url.hostname.replace(/^\[|\]$/g, "")
  const allowed = request.isAllowed(url)
  if (!allowed && isPrivateHost(url)) throw refused(url)
  if (parseIp(name) !== undefined) return [name]
  const addresses = await untilAborted(resolve(name), signal).catch((error) => {
    throw new ToolError("io", `The host ${url.hostname} was not found${reasonOf(error)}.`, { cause: error })
  })
  if (addresses.length === 0) throw new ToolError("io", `The host ${url.hostname} was not found.`)
  // One address that is not public is enough: nobody has such a name by mistake.
  if (!allowed && !addresses.every(isPublicIp)) throw refused(url)
  return addresses
}

/** Does not say which address it is: that would be a map of the private network. */
function refused({ host }: URL): ToolError {
  return new ToolError("denied", `${host} is not on the public internet and is not in the allow list.`)
}

/** Connects to the addresses that were checked and to no other. */
function send({ url, userAgent, headers, body }: Exchange, addresses: readonly string[]): http.ClientRequest {
  const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
  const pinned: LookupFunction = (_name, { all }, done) => {
    const [first] = found
    if (all) done(null, found)
    else done(null, first?.address ?? "", first?.family)
  }
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return (url.protocol === "https:" ? https : http).request({
    ...addressOf(url),
    path: url.pathname + url.search,
    method: body === undefined ? "GET" : "POST",
    headers: {
      accept: "*/*",
      "user-agent": userAgent,
      ...Object.fromEntries(lowered),
      host: url.host,
      "accept-encoding": acceptedEncodings,
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    },
    lookup: pinned,
    // No connection of another request: that one's address may have been checked under other rules.
    agent: false,
  })
}

function answerTo(outgoing: http.ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", resolve)
    outgoing.on("error", reject)
    outgoing.end(body)
  })
}

function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const unlink = onAbort(signal, () => reject(signal.reason))
    work.then(resolve, reject).finally(unlink)
  })
}

/** Only a code: messages of errors may hold what was sent. */
function reasonOf(error: unknown): string {
  return error instanceof Error && "code" in error ? ` (${String(error.code)})` : ""
}
