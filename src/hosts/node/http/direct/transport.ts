import { LonghaulError } from "../../../../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../../../../contract/provider.ts"
import { type AbortListener, addAbortListener, removeAbortListener } from "../../../../lib/abort.ts"
import type { ConnectOptions } from "../connect-limit.ts"
import { routeTo } from "../find-route.ts"
import { carriedHeaders, headerLines } from "../request-headers.ts"
import type { ProxyVariables, Route } from "../route.ts"
import { type Connect, type Connection, ConnectionPools, type ExchangeListener } from "./connections.ts"
import { SocketOpener } from "./sockets.ts"

/** See `directTransport`, which loads it. */
export function socketTransport(
  options: ConnectOptions,
  proxies: ProxyVariables | undefined,
  pools: ConnectionPools = new ConnectionPools(),
): Transport {
  const opener = new SocketOpener(options)
  /** A conversation has one URL and one headers object for all its requests. */
  const prepared = new WeakMap<TransportRequest["headers"], Prepared>()
  return {
    stream(request, sink) {
      const known = prepared.get(request.headers)
      return known?.url === request.url ? exchange(known, pools, request, sink) : firstExchange(request, sink)
    },
  }

  async function firstExchange(request: TransportRequest, sink: TransportSink): Promise<void> {
    const { url, headers } = request
    const route = await routeTo(url, proxies)
    const lines = headerLines(carriedHeaders(headers))
    const known: Prepared = {
      url,
      route,
      head: requestHead(route),
      lines,
      pool: `${route.identity}\n${lines}`,
      connect: (reading, signal) => opener.open(route, reading, signal),
    }
    prepared.set(headers, known)
    return exchange(known, pools, request, sink)
  }
}

interface Prepared {
  readonly url: string
  readonly route: Route
  /** The request's first lines, up to its length. */
  readonly head: string
  readonly lines: string
  readonly pool: string
  readonly connect: Connect
}

function requestHead({ path, host, proxyAuthorization }: Route): string {
  const login = proxyAuthorization === "" ? "" : `proxy-authorization: ${proxyAuthorization}\r\n`
  return `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${login}`
}

function exchange(
  prepared: Prepared,
  pools: ConnectionPools,
  request: TransportRequest,
  sink: TransportSink,
): Promise<void> {
  return new Promise((resolve, reject) => new Exchange(prepared, request, sink, resolve, reject).begin(pools))
}

/**
 * One request and its response. The request is sent once: only the retry layer repeats a failed call, and records it.
 */
class Exchange implements ExchangeListener, AbortListener {
  readonly #prepared: Prepared
  readonly #request: TransportRequest
  readonly #sink: TransportSink
  readonly #resolve: () => void
  readonly #reject: (error: unknown) => void
  #connection: Connection | undefined
  /** By the sink, or because of the head. */
  #thrown: { readonly error: unknown } | undefined

  constructor(
    prepared: Prepared,
    request: TransportRequest,
    sink: TransportSink,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#prepared = prepared
    this.#request = request
    this.#sink = sink
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(pools: ConnectionPools): void {
    const { connect, pool: key } = this.#prepared
    const { signal } = this.#request
    if (signal?.aborted) throw this.#failure(signal.reason)
    const pool = pools.of(key, connect)
    const kept = pool.take()
    if (kept) this.#send(kept)
    else {
      pool
        .open(signal)
        .then((connection) => this.#send(connection))
        .catch((cause) => this.#reject(this.#failure(cause)))
    }
  }

  #send(connection: Connection): void {
    const { head, lines } = this.#prepared
    const { body, signal } = this.#request
    this.#connection = connection
    // Nothing is sent after an abort.
    if (signal?.aborted) connection.close()
    else if (signal) addAbortListener(signal, this)
    connection.exchange(`${head}content-length: ${body.length}\r\n${lines}\r\n`, body, this)
  }

  aborted(): void {
    this.#connection?.close()
  }

  head(status: number, header: (name: string) => string | undefined): void {
    try {
      const refusal = this.#prepared.route.refusal?.(status)
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

  failed(cause: unknown): void {
    this.#over()
    this.#reject(this.#thrown ? this.#thrown.error : this.#failure(cause))
  }

  #failure(cause: unknown): LonghaulError {
    return LonghaulError.is(cause) ? cause : this.#prepared.route.failed(cause)
  }

  #over(): void {
    const { signal } = this.#request
    if (signal) removeAbortListener(signal, this)
  }
}
