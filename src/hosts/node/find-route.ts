import { LonghaulError } from "../../contract/error.ts"
import { directRoute, type ProxyVariables, type Route } from "./route.ts"

export type Variables = Readonly<Record<string, string | undefined>>

/** The code that reads proxies is loaded only where one is configured. */
export async function routeTo(url: string, proxies: ProxyVariables | undefined): Promise<Route> {
  const target = URL.canParse(url) ? new URL(url) : null
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw new LonghaulError("config_invalid", `${JSON.stringify(url)} is not an http(s) URL.`, {
      fix: "Check baseUrl.",
    })
  }
  const proxied = proxies && (await import("./later.ts")).proxiedRoute(target, proxies)
  return proxied ?? directRoute(target)
}

/**
 * Undefined where no proxy is configured. Read as curl reads them: lower case first, and `HTTP_PROXY` in upper case not at
 * all, since in a CGI program that is the `Proxy` header of a request.
 */
export function proxyVariables(variables: Variables): ProxyVariables | undefined {
  const first = (...names: readonly string[]) => {
    const name = names.find((each) => variables[each])
    return name === undefined ? undefined : { name, value: variables[name] as string }
  }
  const http = first("http_proxy", "all_proxy", "ALL_PROXY")
  const https = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
  return http || https ? { http, https, except: first("no_proxy", "NO_PROXY")?.value ?? "" } : undefined
}
