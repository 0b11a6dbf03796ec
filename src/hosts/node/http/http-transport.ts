import type { Agent, ClientRequest, IncomingMessage } from "node:http"
import { LonghaulError } from "../../../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../../../contract/provider.ts"
import { onAbort } from "../../../lib/abort.ts"
import { variables as processVariables } from "../../../lib/schema/contract-shapes.ts"
import { checkArgument, having, required } from "../../../lib/schema/shape.ts"
import type { Variables } from "../model-names.ts"
import { serverNameOf } from "./address.ts"
import { type ConnectOptions, checkConnectOptions } from "./connect-limit.ts"
import { proxyVariables, routeTo } from "./find-route.ts"
import { keepAliveAgent, type PooledRequest } from "./http-agent.ts"
import { httpModule } from "./http-module.ts"
import { carriedHeaders, headerLines } from "./request-headers.ts"
import type { Route } from "./route.ts"

export interface NodeTransportOptions extends ConnectOptions {
  /** Opens and keeps the connections instead of Longhaul: it controls certificates, timeouts and proxies. */
  readonly agent?: Agent
}

/**
 * Model calls over `node:http(s)` with kept-alive connections. Uses the proxies in `https_proxy`, `http_proxy` and
 * `all_proxy` for all hosts except those in `no_proxy`, including this computer.
 */
export function nodeTransport(options: NodeTransportOptions = {}, variables: Variables = process.env): Transport {
  checkConnectOptions("nodeTransport", options, { agent: having({ createConnection: required("function") }) })
  checkArgument("variables", variables, processVariables)
  refuseAgentWith(options)
  const proxies = options.agent ? undefined : proxyVariables(variables)
  const agents = Object.keys(options).length === 0 ? sharedAgents : new Agents(options)
  /** A conversation has one URL and one headers object for all its requests. */
  const prepared = new WeakMap<TransportRequest["headers"], Prepared>()
  return {
    stream(request, sink) {
      const known = prepared.get(request.headers)
      return known?.url === request.url ? exchange(known, request, sink) : firstExchange(request, sink)
    },
  }

  async function firstExchange(request: TransportRequest, sink: TransportSink): Promise<void> {
    const { url, headers } = request
    const route = await routeTo(url, proxies)
    const known = { url, route, options: requestOptions(route, agents, headers) }
    prepared.set(headers, known)
    return exchange(known, request, sink)
  }
}

interface Prepared {
  readonly url: string
  readonly route: Route
  readonly options: PooledRequest
}

/** `node:http` is loaded by the first request that needs it. */
class Agents {
  readonly #options: NodeTransportOptions
  #plain: Agent | undefined
  #secure: Agent | undefined

  constructor(options: NodeTransportOptions) {
    this.#options = options
  }

  agentFor(isSecure: boolean): Agent {
    if (this.#options.agent) return this.#options.agent
    if (isSecure) {
      this.#secure ??= keepAliveAgent(true, this.#options)
      return this.#secure
    }
    this.#plain ??= keepAliveAgent(false, this.#options)
    return this.#plain
  }
}

/** Shared by all transports of the process without options. */
const sharedAgents = new Agents({})

/** The headers are an object: OpenTelemetry's instrumentation cannot read a list of headers. */
function requestOptions(route: Route, agents: Agents, headers: TransportRequest["headers"]): PooledRequest {
  const { proxyAuthorization: login, address, tunnel } = route
  const carried = carriedHeaders(headers)
  return {
    ...address,
    method: "POST",
    path: route.path,
    headers: { host: route.host, ...carried, ...(login !== "" && { "proxy-authorization": login }) },
    joinDuplicateHeaders: true,
    agent: agents.agentFor(route.isSecure),
    // Otherwise Node would expect the name of the `host` header in a proxy's certificate.
    ...(route.isSecure && { servername: serverNameOf(address) }),
    pool: `${route.identity}\n${headerLines(carried)}`,
    tunnel,
  }
}

function exchange(prepared: Prepared, request: TransportRequest, sink: TransportSink): Promise<void> {
  return new Promise((resolve, reject) => new Exchange(prepared.route, request, sink, resolve, reject).begin(prepared))
}

/** One request and its response. The request is sent once: only the retry layer repeats a failed call, and records it. */
class Exchange {
  readonly #route: Route
  readonly #request: TransportRequest
  readonly #sink: TransportSink
  readonly #resolve: () => void
  readonly #reject: (error: unknown) => void
  #outgoing: ClientRequest | undefined
  #unlink = () => {}
  #isOver = false

  constructor(
    route: Route,
    request: TransportRequest,
    sink: TransportSink,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#route = route
    this.#request = request
    this.#sink = sink
    this.#resolve = resolve
    this.#reject = reject
  }

  begin({ route, options }: Prepared): void {
    const { body, signal } = this.#request
    if (signal?.aborted) throw route.failed(signal.reason)
    const outgoing = requestOver(route, options.tunnel ? { ...options, tunnelSignal: signal } : options)
    this.#outgoing = outgoing
    this.#unlink = onAbort(signal, () => outgoing.destroy())
    outgoing.on("response", (response) => this.#answered(response))
    outgoing.on("error", (cause) => this.#fail(cause))
    outgoing.setHeader("content-length", body.length)
    outgoing.end(body)
  }

  #answered(response: IncomingMessage): void {
    // Not `data`: servers send an HTTP chunk for each event, and `read` joins those that arrived together.
    response.on("readable", () => this.#deliver(response))
    response.on("error", (cause) => this.#fail(cause))
    response.on("close", () => {
      // A server may respond before it has read the request: the rest need not be sent.
      if (this.#outgoing?.writableFinished === false) this.#outgoing.destroy()
      if (!response.complete) this.#fail(undefined)
      // Not before the agent has its connection back, so that the next request can reuse it.
      else if (this.#finish()) setImmediate(this.#resolve)
    })
    const status = response.statusCode ?? 0
    const refusal = this.#route.refusal?.(status)
    try {
      if (refusal) throw refusal
      this.#sink.head(status, (name) => {
        const value = response.headers[name]
        return Array.isArray(value) ? value.join(", ") : value
      })
    } catch (error) {
      this.#stop(error)
    }
  }

  #deliver(response: IncomingMessage): void {
    try {
      for (let chunk = response.read(); chunk !== null && !this.#isOver; chunk = response.read())
        this.#sink.chunk(chunk)
    } catch (error) {
      this.#stop(error)
    }
  }

  #stop(error: unknown): void {
    this.#fail(error, error)
    this.#outgoing?.destroy()
  }

  #fail(cause: unknown, error: unknown = LonghaulError.is(cause) ? cause : this.#route.failed(cause)): void {
    if (this.#finish()) this.#reject(error)
  }

  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#unlink()
    return true
  }
}

function requestOver(route: Route, options: PooledRequest): ClientRequest {
  try {
    return httpModule(route.isSecure).request(options)
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ERR_INVALID_PROTOCOL")) throw route.failed(cause)
    throw new LonghaulError("config_invalid", `The given agent cannot make requests to ${route.host}.`, {
      fix: "Pass an https.Agent for https URLs and an http.Agent for http URLs.",
      cause,
    })
  }
}

function refuseAgentWith({ agent, ...others }: NodeTransportOptions): void {
  const other = Object.entries(others).find(([, value]) => value !== undefined)?.[0]
  if (agent === undefined || other === undefined) return
  throw new LonghaulError("config_invalid", `${other} cannot be combined with an agent.`, {
    fix: `Set ${other} on the agent, or omit the agent.`,
  })
}
