import { BlockList, isIP, type Socket } from "node:net"
import { LonghaulError } from "../../../contract/error.ts"
import { onAbort } from "../../../lib/abort.ts"
import { type Address, addressOf, serverNameOf } from "./address.ts"
import { connectTimeout } from "./connect-limit.ts"
import { httpModule } from "./http-module.ts"
import { connectionFailed, directRoute, type ProxyVariables, type Route, type Variable } from "./route.ts"

/** The route to a target through its proxy; null: no proxy, or excluded. */
export function proxiedRoute(target: URL, variables: ProxyVariables): Route | null {
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
  readonly address: Address
  /** Value of the header; empty if no login is needed. */
  readonly authorization: string
  /** Distinguishes proxies, including credentials: never shown. */
  readonly identity: string
  readonly secure: boolean
}

/** Neither the value nor the parse error is shown: it may contain a password. */
function readProxy({ name, value }: Variable): Proxy {
  const text = value.includes("://") ? value : `http://${value}`
  if (/^socks/i.test(text)) throw socksUnsupported(name)
  const url = URL.canParse(text) ? new URL(text) : null
  const authorization = url && authorizationOf(url)
  if (!url || authorization === null || !/^https?:$/.test(url.protocol)) {
    throw new LonghaulError("config_invalid", `${name} is not the URL of an http or https proxy.`, {
      fix: `Set ${name} to a URL such as http://user:password@proxy.example:8080, or unset it.`,
    })
  }
  return {
    host: url.host,
    variable: name,
    address: addressOf(url),
    authorization,
    identity: `${name} ${url.href}`,
    secure: url.protocol === "https:",
  }
}

function socksUnsupported(name: string): LonghaulError {
  const better = /^all_proxy$/i.test(name) ? "https_proxy (http_proxy for a local model)" : name
  return new LonghaulError(
    "config_invalid",
    `${name} names a SOCKS proxy: only http and https proxies are supported.`,
    {
      fix: `Set ${better} to an http proxy, add the host to NO_PROXY to reach it directly, or unset ${name}.`,
    },
  )
}

/** Null: user or password are not properly encoded. */
function authorizationOf({ username, password }: URL): string | null {
  if (username === "" && password === "") return ""
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return `Basic ${Buffer.from(credentials).toString("base64")}`
  } catch {
    return null
  }
}

/** Requests in absolute form: the proxy reads and forwards each. */
function throughRequests(target: URL, proxy: Proxy): Route {
  return {
    address: proxy.address,
    isSecure: proxy.secure,
    host: target.host,
    path: `${target.origin}${target.pathname}${target.search}`,
    proxyAuthorization: proxy.authorization,
    identity: `requests ${proxy.identity}`,
    failed: (cause) => unreachable(proxy, cause),
    // The only status that always comes from a proxy; any other may be the server's.
    refusal: (status) => (status === 407 ? refused(proxy, target.host, status) : undefined),
  }
}

/** TLS to the target, in a tunnel that the proxy opens: it sees only the host. */
function throughTunnel(target: URL, proxy: Proxy): Route {
  const route = directRoute(target)
  const authority = `${target.hostname}:${route.address.port}`
  return {
    ...route,
    identity: `tunnels ${target.origin} ${proxy.identity}`,
    tunnel: (timeoutMs, signal) => openTunnel(authority, proxy, timeoutMs, signal),
  }
}

function openTunnel(
  authority: string,
  proxy: Proxy,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const login = proxy.authorization === "" ? {} : { "proxy-authorization": proxy.authorization }
    const request = httpModule(proxy.secure).request({
      ...proxy.address,
      method: "CONNECT",
      path: authority,
      agent: false,
      // Otherwise Node would expect the name of the `host` header in the proxy's certificate.
      ...(proxy.secure && { servername: serverNameOf(proxy.address) }),
      headers: { host: authority, connection: "keep-alive", ...login },
    })
    const timer = setTimeout(() => request.destroy(connectTimeout(timeoutMs)), timeoutMs)
    const unlink = onAbort(signal, () => request.destroy())
    const settle = () => {
      clearTimeout(timer)
      unlink()
    }
    request.on("error", (cause) => {
      settle()
      reject(unreachable(proxy, cause))
    })
    request.on("connect", ({ statusCode = 0 }, tunnel: Socket) => {
      settle()
      // The TLS socket, which reports the errors of its tunnel, is created later.
      tunnel.on("error", () => {})
      if (statusCode >= 200 && statusCode <= 299) return resolve(tunnel)
      tunnel.destroy()
      return reject(refused(proxy, authority, statusCode))
    })
    request.end()
  })
}

function unreachable({ host, variable }: Proxy, cause: unknown): LonghaulError {
  const fix = `Check ${variable}, or add the host to NO_PROXY to reach it directly.`
  return connectionFailed(`the proxy ${host}`, cause, fix)
}

function refused({ host, variable, authorization }: Proxy, target: string, status: number): LonghaulError {
  const login =
    authorization === ""
      ? `Add the proxy's user and password to ${variable}, as in http://user:password@${host}.`
      : `Correct the user and password in ${variable}.`
  return new LonghaulError("network", `The proxy ${host} refused to connect to ${target} (${status}).`, {
    retryable: status >= 500 || status === 408 || status === 429,
    data: { status },
    fix: status === 407 ? login : `Allow ${target} at the proxy in ${variable}, or add the host to NO_PROXY.`,
  })
}

/** As in curl: a name matches itself and all subdomains, with or without a leading dot or `*.`. */
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
