import http from "node:http"
import https from "node:https"
import { BlockList, isIP } from "node:net"
import type { Duplex } from "node:stream"
import { LonghaulError } from "../../contract/error.ts"
import { onAbort } from "../../lib/abort.ts"
import { addressOf, connectionFailed, type Endpoint, pool } from "./endpoint.ts"

/** The variables that name proxies, as they were when the transport was made. */
export interface ProxyVariables {
  /** For http targets. */
  readonly http: Variable | undefined
  /** For https targets. */
  readonly https: Variable | undefined
  /** Hosts that are reached directly. */
  readonly except: string
}

interface Variable {
  readonly name: string
  readonly value: string
}

/** The way to a target through its proxy; null: it has none, or is excepted. */
export function proxiedEndpoint(target: URL, variables: ProxyVariables): Endpoint | null {
  const secure = target.protocol === "https:"
  const variable = secure ? variables.https : variables.http
  if (!variable || isExcepted(target, variables.except)) return null
  const proxy = readProxy(variable)
  return secure ? throughTunnel(target, proxy) : throughRequests(target, proxy)
}

interface Proxy {
  /** Never its user or password. */
  readonly host: string
  readonly variable: string
  readonly address: http.RequestOptions
  readonly request: typeof http.request
  readonly authorization: readonly string[]
  /** Tells proxies apart, credentials included: never shown. */
  readonly identity: string
  readonly secure: boolean
}

/** The value is never shown, nor is what parsing it threw: it may hold a password. */
function readProxy({ name, value }: Variable): Proxy {
  const text = value.includes("://") ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : null
  const authorization = url && authorizationOf(url)
  if (!url || !authorization || !/^https?:$/.test(url.protocol)) {
    throw new LonghaulError("config_invalid", `${name} is not the URL of an http or https proxy.`, {
      fix: `Set ${name} to a URL such as http://user:password@proxy.example:8080, or unset it.`,
    })
  }
  const secure = url.protocol === "https:"
  return {
    host: url.host,
    variable: name,
    address: addressOf(url),
    request: secure ? https.request : http.request,
    authorization,
    identity: `${name} ${url.href}`,
    secure,
  }
}

/** Null: user or password are not properly encoded. */
function authorizationOf({ username, password }: URL): readonly string[] | null {
  if (username === "" && password === "") return []
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return ["proxy-authorization", `Basic ${Buffer.from(credentials).toString("base64")}`]
  } catch {
    return null
  }
}

/** Requests in absolute form: the proxy reads each and passes it on. */
function throughRequests(target: URL, proxy: Proxy): Endpoint {
  const agent = agentOf(`requests ${proxy.secure}`, () => new (proxy.secure ? https : http).Agent(pool))
  const path = `${target.origin}${target.pathname}${target.search}`
  const options = { ...proxy.address, method: "POST", agent, path }
  return {
    headers: ["host", target.host, ...proxy.authorization],
    open: (headers) => proxy.request({ ...options, headers }),
    failed: (cause) => unreachable(proxy, cause),
    // The one status that only a proxy gives; any other may be the server's.
    refusal: (status) => (status === 407 ? refused(proxy, target.host, status) : undefined),
  }
}

/** TLS to the target itself, in a tunnel that the proxy opens: it sees the host and nothing else. */
function throughTunnel(target: URL, proxy: Proxy): Endpoint {
  const agent = agentOf(`tunnels ${proxy.identity}`, () => new TunnelAgent(proxy))
  const authority = `${target.hostname}:${target.port || 443}`
  const options = { ...addressOf(target), method: "POST", agent, path: target.pathname + target.search, authority }
  return {
    headers: ["host", target.host],
    open(headers, signal) {
      const request: TunnelOptions = { ...options, headers, tunnelSignal: signal }
      return https.request(request)
    },
    failed: (cause) => connectionFailed(target.host, cause),
  }
}

interface TunnelOptions extends https.RequestOptions {
  readonly authority: string
  /** Of the request that needs the tunnel: nobody else waits for it. */
  readonly tunnelSignal?: AbortSignal | undefined
}

/** Pools connections by target as any agent does; only how a new one comes about is different. */
class TunnelAgent extends https.Agent {
  readonly #proxy: Proxy

  constructor(proxy: Proxy) {
    super(pool)
    this.#proxy = proxy
  }

  override createConnection(options: TunnelOptions, done: (error: Error | null, socket?: Duplex) => void): undefined {
    const { authority, tunnelSignal } = options
    const proxy = this.#proxy
    const asked = proxy.request({
      ...proxy.address,
      method: "CONNECT",
      path: authority,
      agent: false,
      headers: ["host", authority, "connection", "keep-alive", ...proxy.authorization],
    })
    const unlink = onAbort(tunnelSignal, () => asked.destroy())
    asked.on("error", (cause) => {
      unlink()
      done(unreachable(proxy, cause))
    })
    asked.on("connect", ({ statusCode = 0 }, tunnel: Duplex) => {
      unlink()
      if (statusCode < 200 || statusCode > 299) {
        tunnel.destroy()
        return done(refused(proxy, authority, statusCode))
      }
      const socket = super.createConnection({ ...options, socket: tunnel } as https.RequestOptions) as Duplex
      tunnel.on("error", (error) => socket.destroy(error))
      done(null, socket)
    })
    asked.end()
    return undefined
  }
}

/** One pool for each way, for all transports of the process. */
const agents = new Map<string, http.Agent>()

function agentOf(way: string, create: () => http.Agent): http.Agent {
  const agent = agents.get(way) ?? create()
  agents.set(way, agent)
  return agent
}

function unreachable({ host, variable }: Proxy, cause: unknown): LonghaulError {
  const fix = `Check ${variable}, or name the host in NO_PROXY to reach it directly.`
  return connectionFailed(`the proxy ${host}`, cause, fix)
}

function refused({ host, variable, authorization }: Proxy, target: string, status: number): LonghaulError {
  const login =
    authorization.length === 0
      ? `Put the proxy's user and password into ${variable}, as in http://user:password@${host}.`
      : `Correct the user and password in ${variable}.`
  return new LonghaulError("network", `The proxy ${host} refused to connect to ${target} (${status}).`, {
    retryable: status >= 500 || status === 408 || status === 429,
    data: { status },
    fix: status === 407 ? login : `Allow ${target} at the proxy of ${variable}, or name the host in NO_PROXY.`,
  })
}

/** As curl reads it: a name stands for itself and all below it, with or without a dot or `*.` in front. */
function isExcepted({ hostname, port, protocol }: URL, except: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, "")
  const reached = port || (protocol === "https:" ? "443" : "80")
  return except
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === "*") return true
      if (entry.includes("/")) return isInRange(host, entry)
      const [, name = "", onPort = reached] = (isIP(entry) ? null : /^(.*):(\d+)$/.exec(entry)) ?? [entry, entry]
      const bare = name.replace(/^\*?\.|^\[|\]$|\.$/g, "")
      return bare !== "" && onPort === reached && (host === bare || (!isIP(host) && host.endsWith(`.${bare}`)))
    })
}

function isInRange(host: string, range: string): boolean {
  const [, network = "", bits] = /^(.+)\/(\d+)$/.exec(range) ?? []
  const family = isIP(network) === 6 ? "ipv6" : "ipv4"
  if (!isIP(host) || !isIP(network) || Number(bits) > (family === "ipv6" ? 128 : 32)) return false
  const list = new BlockList()
  list.addSubnet(network, Number(bits), family)
  return list.check(host, isIP(host) === 6 ? "ipv6" : "ipv4")
}
