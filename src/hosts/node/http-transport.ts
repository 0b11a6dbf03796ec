import http from "node:http"
import { LonghaulError } from "../../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../../contract/provider.ts"
import { onAbort } from "../../lib/abort.ts"
import { concatBytes } from "../../lib/bytes.ts"
import { addressOf, connectionFailed, type Endpoint, pool } from "./endpoint.ts"
import type { ProxyVariables } from "./proxy.ts"

type Variables = Readonly<Record<string, string | undefined>>

/**
 * `node:http(s)` with kept-alive connections: a third of the CPU that global `fetch` takes per streamed answer, and no
 * web stream in between. Goes through the proxies that HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name, to all hosts but
 * those in NO_PROXY: as is the custom, this computer is no exception unless it is listed there.
 */
export function nodeTransport(variables: Variables = process.env): Transport {
  const proxies = proxyVariables(variables)
  const endpoints = new Map<string, Endpoint>()
  return {
    async stream(request, sink) {
      let endpoint = endpoints.get(request.url)
      if (endpoint === undefined) {
        endpoint = await endpointOf(request.url, proxies)
        endpoints.set(request.url, endpoint)
      }
      return exchange(endpoint, request, sink)
    },
  }
}

function exchange(endpoint: Endpoint, request: TransportRequest, sink: TransportSink): Promise<void> {
  return new Promise((resolve, reject) => {
    let answered = false
    const outgoing = endpoint.open(headerList(endpoint, request), request.signal)
    const unlink = onAbort(request.signal, () => outgoing.destroy())
    const fail = (cause?: unknown) => {
      unlink()
      // A kept-alive connection that the server closed meanwhile says nothing about this request: it goes out anew.
      if (outgoing.reusedSocket && !answered && !request.signal?.aborted) resolve(exchange(endpoint, request, sink))
      else reject(LonghaulError.is(cause) ? cause : endpoint.failed(cause))
    }
    outgoing.on("error", fail)
    outgoing.on("response", (response) => {
      answered = true
      const status = response.statusCode ?? 0
      const refusal = endpoint.refusal?.(status)
      if (refusal) {
        fail(refusal)
        outgoing.destroy()
        return
      }
      const chunks = new ChunkJoiner(sink)
      response.on("data", (chunk: Uint8Array) => chunks.add(chunk))
      response.on("error", fail)
      response.on("close", () => {
        chunks.deliver()
        unlink()
        if (response.complete) resolve()
        else fail()
      })
      sink.head(status, (name) => {
        const value = response.headers[name]
        return Array.isArray(value) ? value.join(", ") : value
      })
    })
    outgoing.end(request.body)
  })
}

/** As a list, headers go out as they are: nothing is looked up, defaulted or sorted for each request. */
function headerList(endpoint: Endpoint, { headers, body }: TransportRequest): string[] {
  const list = [...endpoint.headers, "content-length", String(body.length)]
  for (const name of Object.keys(headers)) list.push(name, headers[name] as string)
  return list
}

/** Servers send an HTTP chunk for each event. What one read of the socket brought is handed on together. */
class ChunkJoiner {
  readonly #sink: TransportSink
  #chunks: Uint8Array[] = []

  constructor(sink: TransportSink) {
    this.#sink = sink
  }

  add(chunk: Uint8Array): void {
    if (this.#chunks.push(chunk) === 1) queueMicrotask(() => this.deliver())
  }

  deliver(): void {
    const chunks = this.#chunks
    if (chunks.length === 0) return
    this.#chunks = []
    this.#sink.chunk(chunks.length === 1 ? (chunks[0] as Uint8Array) : concatBytes(chunks))
  }
}

async function endpointOf(url: string, proxies: ProxyVariables | undefined): Promise<Endpoint> {
  const target = URL.canParse(url) ? new URL(url) : null
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw new LonghaulError("config_invalid", `${JSON.stringify(url)} is not an http(s) URL.`, {
      fix: "Check baseUrl.",
    })
  }
  const proxied = proxies && (await import("./later.ts")).proxiedEndpoint(target, proxies)
  return proxied ?? directEndpoint(target, target.protocol === "https:" ? await httpsOpener() : httpOpener)
}

function directEndpoint(target: URL, { request, agent }: Opener): Endpoint {
  const { host, pathname, search } = target
  const options = { ...addressOf(target), method: "POST", agent, path: pathname + search }
  return {
    headers: ["host", host],
    open: (headers) => request({ ...options, headers }),
    failed: (cause) => connectionFailed(host, cause),
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

/** One pool of kept-alive connections each, for all transports of the process. */
interface Opener {
  readonly request: typeof http.request
  readonly agent: http.Agent
}

const httpOpener: Opener = { request: http.request, agent: new http.Agent(pool) }
let httpsLoading: Promise<Opener> | undefined

/** TLS is a third of what this module would cost to import, and not everybody needs it. */
function httpsOpener(): Promise<Opener> {
  httpsLoading ??= import("node:https").then(({ Agent, request }) => ({
    request,
    agent: new Agent(pool),
  }))
  return httpsLoading
}
