import { ToolError } from "../../contract/tool.ts"
import { comparedName, isHeaderName, isHeaderValue } from "./header-syntax.ts"
import type { CheckedService } from "./service.ts"

export interface ModelHeaders {
  /** By lower-case name. */
  readonly sent: Readonly<Record<string, string>>
  /** Names that were omitted. */
  readonly dropped: readonly string[]
}

/** The headers of a call that a model may choose. Malformed ones fail the call: how a server would read them is unknown. */
export function modelHeaders(service: CheckedService, given: Readonly<Record<string, unknown>>): ModelHeaders {
  const sent: Record<string, string> = {}
  const dropped: string[] = []
  const own = ownNames(service)
  for (const [name, value] of Object.entries(given)) {
    if (!isHeaderName(name))
      throw new ToolError("invalid_input", `${JSON.stringify(name.slice(0, 80))} is not a header.`)
    if (!isHeaderValue(value)) throw new ToolError("invalid_input", `The header ${name} is not one line of plain text.`)
    const compared = comparedName(name)
    if (own.has(compared) || reserved.test(compared)) {
      dropped.push(name)
      continue
    }
    if (Object.hasOwn(sent, compared)) throw new ToolError("invalid_input", `The header ${name} is given twice.`)
    sent[compared] = value
  }
  return { sent, dropped }
}

/** Names that only the host sets. */
function ownNames({ auth, headers = {}, idempotencyHeader }: CheckedService): ReadonlySet<string> {
  const names = [
    ...Object.keys(headers),
    ...(auth.type === "header" ? [auth.name] : []),
    ...(idempotencyHeader === undefined ? [] : [idempotencyHeader]),
  ]
  return new Set(names.map(comparedName))
}

/** Who calls, from where, by which method, and how the request is read: the model must not set any of it. */
const reserved = new RegExp(
  `^(?:${[
    "authorization",
    "proxy-.*",
    "(?:set-)?cookie2?",
    "host",
    "transfer-encoding|content-length|content-encoding|connection|keep-alive|te|trailer|upgrade|expect|http2-settings",
    "accept-encoding|range|if-range",
    "x-http-method|x-http-method-override|x-method-override|x-http-override|x-method",
    "x-original-url|x-original-uri|x-rewrite-url|x-forwarded-.*|forwarded|via|x-real-ip|x-client-ip|true-client-ip|x-host",
    "(?:x-)?api-?key|(?:x-)?(?:auth|access|private|job|deploy|session|csrf|xsrf|amz-security)-token|x-auth|x-goog-api-key",
    "sec-.*|origin|referer|access-control-.*",
    ":.*",
  ].join("|")})$`,
)
