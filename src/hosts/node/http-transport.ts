import { LonghaulError } from "../../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../../contract/provider.ts"
import { type AbortListener, addAbortListener, removeAbortListener } from "../../lib/abort.ts"
import type { Connection, ExchangeListener } from "./connections.ts"
import { connectionFailed, type Endpoint, poolOf, requestHead } from "./endpoint.ts"
import type { ProxyVariables } from "./proxy.ts"
import { addressOf, plainSocket, secureSocket } from "./sockets.ts"

type Variables = Readonly<Record<string, string | undefined>>

/**
 * HTTP/1.1 over kept-alive sockets, with nothing in between: a bare loop over it takes 0.4 to 0.75 of the CPU of the same
 * loop over `node:http`. Goes through the proxies that HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name, to all hosts but
 * those in NO_PROXY: as is the custom, this computer is no exception unless it is listed there.
 */
export function nodeTransport(variables: Variables = process.env): Transport {
  const proxies = proxyVariables(variables)
  const endpoints = new Map<string, Endpoint>()
  return {
    stream(request, sink) {
      const endpoint = endpoints.get(request.url)
      return endpoint ? exchange(endpoint, request, sink) : firstExchange(request, sink)
    },
  }

  async function firstExchange(request: TransportRequest, sink: TransportSink): Promise<void> {
    const endpoint = await endpointOf(request.url, proxies)
    endpoints.set(request.url, endpoint)
    return exchange(endpoint, request, sink)
  }
}

function exchange(endpoint: Endpoint, request: TransportRequest, sink: TransportSink): Promise<void> {
  return new Promise((resolve, reject) => new Exchange(endpoint, request, sink, resolve, reject).begin())
}

/** One request and its answer: over a kept connection where there is one, and over a new one where that had been closed. */
class Exchange implements ExchangeListener, AbortListener {
  readonly #endpoint: Endpoint
  readonly #request: TransportRequest
  readonly #sink: TransportSink
  readonly #resolve: () => void
  readonly #reject: (error: unknown) => void
  #connection: Connection | undefined
  /** By the sink, or because of what the head says. */
  #thrown: { readonly error: unknown } | undefined

  constructor(
    endpoint: Endpoint,
    request: TransportRequest,
    sink: TransportSink,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#endpoint = endpoint
    this.#request = request
    this.#sink = sink
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(): void {
    // Throws before anything is taken.
    const head = this.#head()
    const kept = this.#endpoint.pool.take()
    if (kept) this.#send(kept, head)
    else this.#open()
  }

  #head(): string {
    const { body, headers } = this.#request
    return `${this.#endpoint.head}content-length: ${body.length}\r\n${headerLines(headers)}\r\n`
  }

  #open(): void {
    this.#endpoint.pool
      .open(this.#request.signal)
      .catch((cause) => {
        throw LonghaulError.is(cause) ? cause : this.#endpoint.failed(cause)
      })
      .then((connection) => this.#send(connection, this.#head()))
      .catch(this.#reject)
  }

  #send(connection: Connection, head: string): void {
    const { body, signal } = this.#request
    this.#connection = connection
    // Nothing may leave any more.
    if (signal?.aborted) connection.close()
    else if (signal) addAbortListener(signal, this)
    connection.exchange(head, body, this)
  }

  aborted(): void {
    this.#connection?.close()
  }

  head(status: number, header: (name: string) => string | undefined): void {
    try {
      const refusal = this.#endpoint.refusal?.(status)
      if (refusal) throw refusal
      this.#sink.head(status, header)
    } catch (error) {
      this.#thrown = { error }
      throw error
    }
  }

  chunk(bytes: Uint8Array): void {
    try {
      this.#sink.chunk(bytes)
    } catch (error) {
      this.#thrown = { error }
      throw error
    }
  }

  done(): void {
    this.#over()
    this.#resolve()
  }

  /** Where the server had closed a kept connection, that says nothing about this request: it goes out anew. */
  failed(cause: unknown): void {
    this.#over()
    if (this.#connection?.isUnheard && !this.#request.signal?.aborted) this.#open()
    else this.#reject(this.#thrown ? this.#thrown.error : this.#endpoint.failed(cause))
  }

  #over(): void {
    const { signal } = this.#request
    if (signal) removeAbortListener(signal, this)
  }
}

/** As lines; a conversation's are the same from request to request. */
function headerLines(headers: TransportRequest["headers"]): string {
  let lines = linesOf.get(headers)
  if (lines === undefined) {
    lines = Object.keys(headers)
      .map((name) => headerLine(name, headers[name] as string))
      .join("")
    linesOf.set(headers, lines)
  }
  return lines
}

const linesOf = new WeakMap<TransportRequest["headers"], string>()

function headerLine(name: string, value: string): string {
  if (OURS.has(name.toLowerCase())) return ""
  if (/^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return `${name}: ${value}\r\n`
  throw new LonghaulError("config_invalid", `No request can carry the header ${JSON.stringify(name)} as it is given.`, {
    fix: "Check its name and value: something else may have been copied with them.",
  })
}

/** What says how the request is framed is not for others to say. */
const OURS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
])

async function endpointOf(url: string, proxies: ProxyVariables | undefined): Promise<Endpoint> {
  const target = URL.canParse(url) ? new URL(url) : null
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw new LonghaulError("config_invalid", `${JSON.stringify(url)} is not an http(s) URL.`, {
      fix: "Check baseUrl.",
    })
  }
  const proxied = proxies && (await import("./later.ts")).proxiedEndpoint(target, proxies)
  return proxied ?? directEndpoint(target)
}

function directEndpoint(target: URL): Endpoint {
  const address = addressOf(target)
  const socket = target.protocol === "https:" ? secureSocket : plainSocket
  return {
    pool: poolOf(target.origin, (reading, signal) => socket(address, reading, signal)),
    head: requestHead(target.pathname + target.search, target.host),
    failed: (cause) => connectionFailed(target.host, cause),
  }
}

/** Undefined where no proxy is named: then nothing of it is loaded. Lower case comes first, as with curl. */
function proxyVariables(variables: Variables): ProxyVariables | undefined {
  const first = (...names: readonly string[]) => {
    const name = names.flatMap((each) => [each.toLowerCase(), each]).find((each) => variables[each])
    return name === undefined ? undefined : { name, value: variables[name] as string }
  }
  const http = first("HTTP_PROXY", "ALL_PROXY")
  const https = first("HTTPS_PROXY", "ALL_PROXY")
  return http || https ? { http, https, except: first("NO_PROXY")?.value ?? "" } : undefined
}
