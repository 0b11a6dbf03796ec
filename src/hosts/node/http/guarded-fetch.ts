import type { Brand } from "../../../contract/brand.ts"
import type { FetchedBody, FetchOptions, GuardedFetch, WebRequest, WebResponse } from "../../../contract/env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import { onAbort } from "../../../lib/abort.ts"
import { defaultBrand } from "../../../lib/brand.ts"
import { allowedHosts, withoutFinalDots } from "../../../lib/http/target-host.ts"
import { brandShape, texts } from "../../../lib/schema/contract-shapes.ts"
import { checkShape, type Shape, shapeOf } from "../../../lib/schema/shape.ts"
import type { Exchange, Resolve } from "./fetch-exchange.ts"

export interface NodeFetchOptions {
  /** Hosts that may be in a private network, as `host` or `host:port`. Default: none. */
  readonly allow?: readonly string[]
  /** Maximum number of redirects. Default 5. */
  readonly maxRedirects?: number
  /** Resolves a name. Default: the system's resolver. */
  readonly resolve?: Resolve
  /** Its `serviceName` is the `user-agent`, where a caller sends none. */
  readonly brand?: Partial<Brand>
}

const optionsShape: Shape<NodeFetchOptions> = {
  allow: texts,
  maxRedirects: "number",
  resolve: "function",
  brand: shapeOf<Partial<Brand>>(brandShape),
}

/**
 * Web access over `node:http(s)`. A name is resolved once, its addresses are checked, and those are connected to; each
 * redirect is checked like the first URL. No proxy is used: it would resolve names itself.
 */
export function nodeFetch(options: NodeFetchOptions = {}): GuardedFetch {
  checkShape<NodeFetchOptions>("nodeFetch", options, optionsShape)
  const { allow = [], maxRedirects = 5, resolve, brand } = options
  const userAgent = brand?.serviceName ?? defaultBrand.serviceName
  const isAllowed = allowedHosts(allow)
  if (!Number.isSafeInteger(maxRedirects) || maxRedirects < 0) {
    throw new LonghaulError("config_invalid", `Invalid maxRedirects: ${maxRedirects}.`, {
      fix: "Use a whole number, 0 or more.",
    })
  }

  async function fetched(
    { url: start, method, body, allowPrivate }: WebRequest,
    options: FetchOptions,
    follow = false,
  ): Promise<WebResponse> {
    // Loaded on first use.
    const { exchange, resolveBySystem } = await import("../lazy.ts")
    return withDeadline(options, async (signal) => {
      const { maxBytes } = options
      const mayBePrivate = allowPrivate ? () => true : isAllowed
      let url = readTarget(start)
      let headers = options.headers ?? {}
      for (let redirects = 0; ; redirects++) {
        const asked = { url, method, body, headers, userAgent, follow }
        const request: Exchange = { ...asked, isAllowed: mayBePrivate, maxBytes, signal }
        const answer = await exchange(request, resolve ?? resolveBySystem)
        if (answer.location === undefined) return { ...answer.body, url: url.href }
        if (redirects === maxRedirects) throw new ToolError("io", `More than ${maxRedirects} redirects.`)
        const next = readTarget(answer.location, url)
        if (url.protocol === "https:" && next.protocol === "http:") {
          throw new ToolError("denied", `${url.host} redirects from https to http, which is not followed.`)
        }
        await options.admit?.(next.href)
        if (next.origin !== url.origin) headers = harmless(headers)
        url = next
      }
    })
  }

  return {
    get: (url, options) => withoutHeaders(fetched({ url, method: "GET" }, options, true)),
    post: (url, body, options) => withoutHeaders(fetched({ url, method: "POST", body }, options)),
    send: (request, options) => fetched(request, options),
  }
}

async function withoutHeaders(response: Promise<WebResponse>): Promise<FetchedBody> {
  const { headers: _, ...body } = await response
  return body
}

/** The address is checked when connecting; this checks only the text. */
function readTarget(text: string, base?: URL): URL {
  let url: URL
  try {
    url = new URL(text, base)
  } catch {
    throw new ToolError("invalid_input", `${JSON.stringify(text)} is not a URL.`)
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ToolError("denied", `Only http and https are allowed, not ${url.protocol}`)
  }
  if (url.username !== "" || url.password !== "") {
    throw new ToolError("denied", "URLs with a user or password are not fetched.")
  }
  // "localhost." is localhost.
  url.hostname = withoutFinalDots(url.hostname)
  url.hash = ""
  return url
}

/** Any other header may be a secret for the first origin. */
function harmless(headers: Readonly<Record<string, string>>): Record<string, string> {
  const names = ["accept", "accept-language", "user-agent"]
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name.toLowerCase())))
}

async function withDeadline<Value>(
  { signal, timeoutMs }: FetchOptions,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const ending = new AbortController()
  const unlink = onAbort(signal, () => ending.abort())
  const timer = setTimeout(() => ending.abort(), timeoutMs)
  try {
    return await work(ending.signal)
  } catch (error) {
    if (signal.aborted) throw new ToolError("aborted", "The run is being stopped.")
    if (ending.signal.aborted) throw new ToolError("timeout", `No complete response within ${timeoutMs} ms.`)
    throw error
  } finally {
    clearTimeout(timer)
    unlink()
  }
}
