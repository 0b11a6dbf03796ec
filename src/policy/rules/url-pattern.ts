import { withoutFinalDots } from "../../lib/target-host.ts"
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
      const spellings = [url.pathname, decode(url.pathname) ?? url.pathname]
      return spellings.some((each) => matchesParts(folded, segmentsOf(each.toLowerCase().replaceAll("\\", "/"))))
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
  const host = withoutFinalDots(new URL(`http://${name}/`).hostname)
  if (!isBelow) return (hostname) => withoutFinalDots(hostname) === host
  return (hostname) => withoutFinalDots(hostname).endsWith(`.${host}`)
}

/** Undefined for spellings that programs read differently. */
function plainUrl(text: string): URL | undefined {
  // Programs disagree about user info, backslashes, white space and escaped separators.
  if (/[\\\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
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

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
