import { LonghaulError } from "../contract/error.ts"
import { isPublicIp, parseIp } from "./ip-address.ts"

/** Whether a URL's host is one of those named, as `host` or `host:port`. Throws `config_invalid` for what is no host. */
export function allowedHosts(allow: readonly string[]): (url: URL) => boolean {
  const allowed = new Set(allow.map(readAllowed))
  return ({ hostname, port, protocol }) => {
    const host = withoutFinalDots(hostname)
    return allowed.has(host) || allowed.has(`${host}:${port || (protocol === "https:" ? 443 : 80)}`)
  }
}

/** Whether a URL's host alone says that it is not on the public internet. Any other name may still turn out to be. */
export function isPrivateHost({ hostname }: URL): boolean {
  const name = withoutFinalDots(hostname).replace(/^\[|\]$/g, "")
  return parseIp(name) === undefined ? neverPublic.test(name) : !isPublicIp(name)
}

/** `host.` is another spelling of `host`. Not by a pattern: a model may write a host of dots, and patterns go back and forth. */
export function withoutFinalDots(hostname: string): string {
  let end = hostname.length
  while (hostname[end - 1] === ".") end--
  return hostname.slice(0, end)
}

/** Names that stand for this computer or its network; to look them up would already tell somebody. */
const neverPublic = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/i

/** As URLs write it, so that every spelling of a host is the same entry. */
function readAllowed(entry: string): string {
  // What is neither a name nor in brackets can only be an IPv6 address without them.
  const [, name = "", port] = /^(\[[^\]]*\]|[^\s:/?#@\\[\]]+)(?::(\d{1,5}))?$/.exec(entry) ?? [entry, `[${entry}]`]
  if (!URL.canParse(`http://${name}/`)) {
    throw new LonghaulError("config_invalid", `${JSON.stringify(entry)} in allow is not a host.`, {
      fix: 'Name hosts as "host" or "host:port", without a scheme or a path.',
    })
  }
  const host = withoutFinalDots(new URL(`http://${name}/`).hostname)
  return port === undefined ? host : `${host}:${Number(port)}`
}
