import { LonghaulError } from "../../../contract/error.ts"
import type { Variables } from "../model-names.ts"
import { directRoute, type ProxyVariables, type Route } from "./route.ts"

/** The proxy code is loaded only if a proxy is configured. */
export async function routeTo(url: string, proxies: ProxyVariables | undefined): Promise<Route> {
  const target = URL.canParse(url) ? new URL(url) : null
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw new LonghaulError("config_invalid", `${JSON.stringify(url)} is not an http(s) URL.`, {
      fix: "Check baseUrl.",
    })
  }
  const proxied = proxies && (await import("../lazy.ts")).proxiedRoute(target, proxies)
  return proxied ?? directRoute(target)
}

/**
 * The proxy variables by purpose, as in curl: lower case first, and never `HTTP_PROXY` in upper case, which in a CGI
 * program is the `Proxy` header of a request.
 */
export const proxyNames = {
  http: ["http_proxy"],
  https: ["https_proxy", "HTTPS_PROXY"],
  all: ["all_proxy", "ALL_PROXY"],
} as const

/** Undefined if no proxy is configured. */
export function proxyVariables(variables: Variables): ProxyVariables | undefined {
  const first = (...names: readonly string[]) => {
    for (const name of names) {
      const value = variables[name]
      if (value) return { name, value }
    }
    return undefined
  }
  const http = first(...proxyNames.http, ...proxyNames.all)
  const https = first(...proxyNames.https, ...proxyNames.all)
  return http || https ? { http, https, except: first("no_proxy", "NO_PROXY")?.value ?? "" } : undefined
}
