import { lookup } from "node:dns/promises"
import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http"
import https from "node:https"
import type { LookupFunction } from "node:net"
import type { WebResponse } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { onAbort } from "../../../lib/abort.ts"
import { isPublicIp, parseIp } from "../../../lib/http/ip-address.ts"
import { isPrivateHost } from "../../../lib/http/target-host.ts"
import { addressOf } from "./address.ts"
import { acceptedEncodings, readBody } from "./fetch-body.ts"

/** Resolves a name to addresses; throws if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** One request to one address. */
export interface Exchange {
  readonly url: URL
  /** True if a host may be private. */
  isAllowed(url: URL): boolean
  /** Sent where `headers` have none. */
  readonly userAgent: string
  readonly headers: Readonly<Record<string, string>>
  readonly method: string
  readonly body: string | undefined
  /** A redirect is returned as one. */
  readonly follow: boolean
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** A redirect to follow, or the response. */
export type Exchanged =
  | { readonly location: string }
  | { readonly location?: undefined; readonly body: Omit<WebResponse, "url"> }

export async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address)
}

export async function exchange(request: Exchange, resolve: Resolve): Promise<Exchanged> {
  const { url, signal } = request
  const addresses = await checkedAddresses(request, resolve)
  // Sends nothing for a run that ended during the lookup.
  signal.throwIfAborted()
  let outgoing: http.ClientRequest | undefined
  const unlink = onAbort(signal, () => outgoing?.destroy())
  try {
    outgoing = send(request, addresses)
    const response = await answerTo(outgoing, request.body)
    const { statusCode: status = 0, headers } = response
    if (request.follow && redirects.includes(status) && headers.location !== undefined) {
      return { location: headers.location }
    }
    const contentType = (headers["content-type"] ?? "").slice(0, 200)
    const retryAfter = headers["retry-after"]
    const details = { status, contentType, ...(retryAfter !== undefined && { retryAfter }), headers: textsOf(headers) }
    // A response to HEAD may declare an encoding of a body that it does not have.
    const body =
      request.method === "HEAD"
        ? { bytes: new Uint8Array(), truncated: false }
        : await readBody(response, request.maxBytes)
    return { body: { ...details, ...body } }
  } catch (error) {
    if (error instanceof ToolError) throw error
    throw new ToolError("io", `No usable response from ${url.host}${reasonOf(error)}.`, { cause: error })
  } finally {
    unlink()
    outgoing?.destroy()
  }
}

const redirects: readonly number[] = [301, 302, 303, 307, 308]

/** The address of a host, if it may be connected to. An address in the URL is checked without a lookup. */
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
  // One non-public address is enough to reject: public names do not have such addresses by accident.
  if (!allowed && !addresses.every(isPublicIp)) throw refused(url)
  return addresses
}

/** Does not reveal the address: that would map the private network. */
function refused({ host }: URL): ToolError {
  return new ToolError("denied", `${host} is not on the public internet and is not in the allow list.`)
}

function textsOf(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const texts = Object.entries(headers).map(([name, value = ""]) => [name, [value].flat().join(", ")])
  return Object.fromEntries(texts)
}

/** Connects to the checked addresses only. */
function send({ url, method, userAgent, headers, body }: Exchange, addresses: readonly string[]): http.ClientRequest {
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
    method,
    headers: {
      accept: "*/*",
      "user-agent": userAgent,
      ...Object.fromEntries(lowered),
      host: url.host,
      "accept-encoding": acceptedEncodings,
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    },
    lookup: pinned,
    // Does not reuse another request's connection: its address may have been checked under other rules.
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

/** Only a code: error messages may contain sent data. */
function reasonOf(error: unknown): string {
  return error instanceof Error && "code" in error ? ` (${String(error.code)})` : ""
}
