import { type Effect, ToolError, type ToolErrorCode } from "../../contract/tool.ts"
import { beforeCut, type Redact } from "../../lib/text/before-cut.ts"
import { startOf } from "../../lib/truncate.ts"
import { type ApiResponse, IN_DOUBT } from "./send.ts"

export interface ResultOptions {
  readonly service: string
  readonly effect: Effect
  readonly maxBytes: number
  readonly dropped: readonly string[]
  /** Masks the secrets in a text; `isCut`: it may end within one. */
  mask(text: string, isCut: boolean): string
  /** Masks the other secrets of the run. */
  readonly redact: Redact
}

/** The response as the model gets it. Throws a `ToolError` for a status from 400 on. */
export function resultOf(response: ApiResponse, options: ResultOptions): string {
  const { status, headers } = response
  const { service, effect, mask, redact, dropped, maxBytes } = options
  const isFailure = status >= 400
  const shown = shownHeaders.flatMap((name) => (headers[name] === undefined ? [] : [`${name}: ${headers[name]}`]))
  const head = [
    `HTTP ${status}`,
    ...shown,
    ...(status >= 300 && status < 400
      ? ["[redirects are not followed: call the new path if the service allows it]"]
      : []),
    ...(dropped.length > 0 ? [`[headers that were not sent: ${dropped.join(", ")}]`] : []),
  ].map((line) => mask(line, false))
  const { text, isBinary } = bodyText(response)
  const body = isBinary ? text : mask(text, response.isCut)
  const end = response.isCut ? [`[the response was cut at ${maxBytes} bytes]`] : []
  if (!isFailure) return [...head, "", body, ...end].join("\n").trimEnd()
  const shownBody = startOf(beforeCut(body, MAX_FAILURE_LENGTH, redact), MAX_FAILURE_LENGTH)
  const message = `${service} answered with ${[...head, "", shownBody, ...end].join("\n").trimEnd()}`
  const isInDoubt = effect !== "none" && (status === 408 || status === 500 || (status >= 502 && status <= 504))
  throw isInDoubt
    ? new ToolError("outcome_unknown", `${message}\n${IN_DOUBT}`)
    : new ToolError(codes[status] ?? "io", message)
}

/** Text of any type is shown; other bytes are only described. */
function bodyText({ bytes, headers, isCut }: ApiResponse): { readonly text: string; readonly isBinary: boolean } {
  const type = headers["content-type"] ?? ""
  const [, charset = "utf-8"] = /charset="?([\w-]+)/i.exec(type) ?? []
  const text = decode(bytes, charset, isCut)
  if (text !== undefined) return { text, isBinary: false }
  return { text: `[${bytes.length} bytes that are not text]`, isBinary: true }
}

function decode(bytes: Uint8Array, charset: string, isCut: boolean): string | undefined {
  try {
    // A cut may be within a character: as part of a stream that is no error.
    const text = new TextDecoder(charset, { fatal: true }).decode(bytes, { stream: isCut })
    return text.includes("\0") ? undefined : text
  } catch {
    return undefined
  }
}

const shownHeaders = ["content-type", "location", "link", "etag", "retry-after", "x-total-count", "x-next-page"]
const MAX_FAILURE_LENGTH = 8_000

const codes: Readonly<Record<number, ToolErrorCode>> = {
  400: "invalid_input",
  401: "denied",
  403: "denied",
  404: "not_found",
  408: "timeout",
  409: "conflict",
  410: "not_found",
  412: "conflict",
  415: "invalid_input",
  422: "invalid_input",
  504: "timeout",
}
