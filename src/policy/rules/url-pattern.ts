import { embeddedIpv4 } from "../../lib/http/ip-address.ts"
import { withoutFinalDots } from "../../lib/http/target-host.ts"
import { matchesParts } from "./glob.ts"

/** A pattern for URLs: `https://*.example.com/docs/**`. */
export interface UrlPattern {
  /** True only for a plain spelling of a URL that matches. */
  permits(url: string): boolean
  /** True if any spelling matches, and for texts that are not URLs. */
  refuses(url: string): boolean
}

/** Undefined if the pattern has no scheme, host or path, or has parts that URLs are not compared by. */
export function compileUrl(pattern: string): UrlPattern | undefined {
  const [, scheme, hostPattern, port, path] =
    /^(\*|https?):\/\/([^/:?#@\\\s]+|\[[^\]]+\])(?::(\d+))?(\/[^?#\\\s]*)$/i.exec(pattern) ?? []
  if (scheme === undefined || hostPattern === undefined || path === undefined) return undefined
  const host = compileHost(hostPattern)
  if (host === undefined) return undefined
  const parts = segmentsOf(path).map((part) => decode(part) ?? part)
  const folded = parts.map((part) => part.toLowerCase())
  const protocol = scheme === "*" ? undefined : `${scheme.toLowerCase()}:`
  const fitsHost = (url: URL) => (protocol === undefined || protocol === url.protocol) && host(url.hostname)
  return {
    permits(text) {
      const url = plainUrl(text)
      if (url === undefined || !fitsHost(url) || url.port !== portOf(port, url)) return false
      const given = segmentsOf(url.pathname).map(decode)
      return given.every((part) => part !== undefined) && matchesParts(parts, given)
    },
    refuses(text) {
      if (!URL.canParse(text)) return true
      const url = new URL(text)
      if (!fitsHost(url) || (port !== undefined && url.port !== portOf(port, url))) return false
      return pathSpellings(url.pathname).some((each) => matchesParts(folded, each))
    },
  }
}

/** `*` is any host, `*.` one or more labels before the rest. */
function compileHost(pattern: string): ((hostname: string) => boolean) | undefined {
  if (pattern === "*") return () => true
  const isBelow = pattern.startsWith("*.")
  const name = isBelow ? pattern.slice(2) : pattern
  if (name.includes("*") || !URL.canParse(`http://${name}/`)) return undefined
  // In the notation of URLs, so that every spelling of a host is the same.
  const host = plainHost(new URL(`http://${name}/`).hostname)
  if (!isBelow) return (hostname) => plainHost(hostname) === host
  return (hostname) => withoutFinalDots(hostname).endsWith(`.${host}`)
}

/** An IPv4 address inside an IPv6 one leads to the same host. */
function plainHost(hostname: string): string {
  const host = withoutFinalDots(hostname)
  return host.startsWith("[") ? (embeddedIpv4(host.slice(1, -1)) ?? host) : host
}

/** Undefined for spellings that programs read differently. */
function plainUrl(text: string): URL | undefined {
  // Programs disagree about user info, backslashes, white space and escaped separators.
  if (/[\\\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (plainHost(url.hostname) !== withoutFinalDots(url.hostname)) return undefined
  if (/%2f|%5c|%00/i.test(url.pathname)) return undefined
  const isPlain = (url.protocol === "https:" || url.protocol === "http:") && !/^[^/?#]*:\/*[^/?#]*@/.test(text)
  return isPlain && url.username === "" && url.password === "" ? url : undefined
}

/** As URLs have it: empty for the port of the scheme. */
function portOf(port: string | undefined, url: URL): string {
  const usual = url.protocol === "https:" ? "443" : "80"
  return port === undefined || port === usual ? "" : String(Number(port))
}

function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "")
}

/** Servers differ in whether they decode a separator before they resolve `..`, and in what `;` begins. */
function pathSpellings(pathname: string): readonly (readonly string[])[] {
  const plain = segmentsOf(pathname.toLowerCase())
  const decoded = segmentsOf(pathname.split("/").map(decodeLoosely).join("/").toLowerCase().replaceAll("\\", "/"))
  const bare = decoded.map((part) => part.split(";", 1)[0] ?? "")
  return [plain, decoded, resolved(decoded), resolved(bare)]
}

function resolved(parts: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const part of parts) {
    if (part === "..") kept.pop()
    else if (part !== "." && part !== "") kept.push(part)
  }
  return kept
}

/** Decodes every escape that can be decoded. */
function decodeLoosely(part: string): string {
  return part.replace(
    /(?:%[0-9a-f]{2})+/gi,
    (escapes) => decode(escapes) ?? escapes.replace(/%[0-7][0-9a-f]/gi, decodeURIComponent),
  )
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
