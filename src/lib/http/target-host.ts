import { LonghaulError } from "../../contract/error.ts"
import { isPublicIp, parseIp } from "./ip-address.ts"

/**
 * True if a URL's host is one of the named ones, given as `host` or `host:port`. Throws `config_invalid` for an invalid
 * host.
 */
export function allowedHosts(allow: readonly string[]): (url: URL) => boolean {
  const allowed = new Set(allow.map(readAllowed))
  return ({ hostname, port, protocol }) => {
    const host = withoutFinalDots(hostname)
    return allowed.has(host) || allowed.has(`${host}:${port || (protocol === "https:" ? 443 : 80)}`)
  }
}

/** True if a URL's host is visibly not on the public internet. Any other name may still turn out not to be. */
export function isPrivateHost({ hostname }: URL): boolean {
  const name = withoutFinalDots(hostname).replace(/^\[|\]$/g, "")
  return parseIp(name) === undefined ? neverPublic.test(name) : !isPublicIp(name)
}

/**
 * `host.` is another spelling of `host`. Not done by a pattern: a model may write a host of dots, and patterns
 * backtrack.
 */
export function withoutFinalDots(hostname: string): string {
  let end = hostname.length
  while (hostname[end - 1] === ".") end--
  return hostname.slice(0, end)
}

/** Names for this computer or its network; resolving them would already reveal them. */
const neverPublic = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/i

/** In URL notation, so that every spelling of a host is the same entry. */
function readAllowed(entry: string): string {
  // A value that is neither a name nor bracketed can only be an IPv6 address without brackets.
  const [, name = "", port] = /^(\[[^\]]*\]|[^\s:/?#@\\[\]]+)(?::(\d{1,5}))?$/.exec(entry) ?? [entry, `[${entry}]`]
  if (!URL.canParse(`http://${name}/`)) {
    throw new LonghaulError("config_invalid", `${JSON.stringify(entry)} in allow is not a host.`, {
      fix: 'Name hosts as "host" or "host:port", without a scheme or a path.',
    })
  }
  const host = withoutFinalDots(new URL(`http://${name}/`).hostname)
  return port === undefined ? host : `${host}:${Number(port)}`
}
