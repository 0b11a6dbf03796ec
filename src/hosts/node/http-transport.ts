import http from "node:http"
import { LonghaulError } from "../../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../../contract/provider.ts"
import { onAbort } from "../../lib/abort.ts"
import { concatBytes } from "../../lib/bytes.ts"

/**
 * `node:http(s)` with kept-alive connections: a third of the CPU that global `fetch` takes per streamed answer, and no
 * web stream in between.
 */
export function nodeTransport(): Transport {
  const endpoints = new Map<string, Endpoint>()
  return {
    async stream(request, sink) {
      let endpoint = endpoints.get(request.url)
      if (endpoint === undefined) {
        endpoint = await endpointOf(request.url)
        endpoints.set(request.url, endpoint)
      }
      return exchange(endpoint, request, sink)
    },
  }
}

/** Where requests to one URL go; its address is taken apart once. */
interface Endpoint {
  readonly host: string
  readonly open: typeof http.request
  readonly options: http.RequestOptions
}

function exchange(endpoint: Endpoint, request: TransportRequest, sink: TransportSink): Promise<void> {
  return new Promise((resolve, reject) => {
    let answered = false
    const outgoing = endpoint.open({ ...endpoint.options, headers: headerList(endpoint, request) })
    const unlink = onAbort(request.signal, () => outgoing.destroy())
    const fail = (cause?: unknown) => {
      unlink()
      // A kept-alive connection that the server closed meanwhile says nothing about this request: it goes out anew.
      if (outgoing.reusedSocket && !answered && !request.signal?.aborted) resolve(exchange(endpoint, request, sink))
      else reject(new LonghaulError("network", `The connection to ${endpoint.host} failed${reason(cause)}.`, { cause }))
    }
    outgoing.on("error", fail)
    outgoing.on("response", (response) => {
      answered = true
      const chunks = new ChunkJoiner(sink)
      response.on("data", (chunk: Uint8Array) => chunks.add(chunk))
      response.on("error", fail)
      response.on("close", () => {
        chunks.deliver()
        unlink()
        if (response.complete) resolve()
        else fail()
      })
      sink.head(response.statusCode ?? 0, (name) => {
        const value = response.headers[name]
        return Array.isArray(value) ? value.join(", ") : value
      })
    })
    outgoing.end(request.body)
  })
}

/** As a list, headers go out as they are: nothing is looked up, defaulted or sorted for each request. */
function headerList({ host }: Endpoint, { headers, body }: TransportRequest): string[] {
  const list = ["host", host, "content-length", String(body.length)]
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

async function endpointOf(url: string): Promise<Endpoint> {
  const target = URL.canParse(url) ? new URL(url) : null
  const opener = target?.protocol === "https:" ? await httpsOpener() : target?.protocol === "http:" ? httpOpener : null
  if (!target || !opener) {
    throw new LonghaulError("config_invalid", `${JSON.stringify(url)} is not an http(s) URL.`, {
      fix: "Check baseUrl.",
    })
  }
  const { hostname, port, pathname, search } = target
  return {
    host: target.host,
    open: opener.request,
    options: {
      method: "POST",
      agent: opener.agent,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      ...(port !== "" && { port }),
      path: pathname + search,
    },
  }
}

/** One pool of kept-alive connections each, for all transports of the process. */
interface Opener {
  readonly request: typeof http.request
  readonly agent: http.Agent
}

const httpOpener: Opener = { request: http.request, agent: new http.Agent({ keepAlive: true }) }
let httpsLoading: Promise<Opener> | undefined

/** TLS is a third of what this module would cost to import, and not everybody needs it. */
function httpsOpener(): Promise<Opener> {
  httpsLoading ??= import("node:https").then(({ Agent, request }) => ({
    request,
    agent: new Agent({ keepAlive: true }),
  }))
  return httpsLoading
}

function reason(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : ""
}
