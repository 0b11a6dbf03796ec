import { LonghaulError } from "../../../contract/error.ts"
import type { TransportRequest } from "../../../contract/provider.ts"

type Headers = TransportRequest["headers"]

/** The headers of a request, without framing headers, which the transport sets. */
export function carriedHeaders(headers: Headers): Record<string, string> {
  const carried: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (FRAMING.has(name.toLowerCase())) continue
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw unsendable(name)
    carried[name] = value
  }
  return carried
}

/** As sent. Requests share connections only if these are equal, including keys and tokens. */
export function headerLines(carried: Headers): string {
  return Object.entries(carried)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")
}

function unsendable(name: string): LonghaulError {
  return new LonghaulError("config_invalid", `The header ${JSON.stringify(name)} is invalid.`, {
    fix: "Check its name and value for stray characters.",
  })
}

const FRAMING: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
])
