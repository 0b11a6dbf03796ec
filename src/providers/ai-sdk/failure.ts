import { type ErrorCode, LonghaulError } from "../../contract/error.ts"
import { isOverflow } from "../../lib/overflow-texts.ts"
import { brokenOff, malformed, refusalError } from "../failure.ts"

/** Metadata of the response, filled in while it streams. */
export interface Source {
  requestId: string | undefined
  /** As reported by the provider. */
  model: string
  /** The variable that the package reads its key from. */
  readonly keyName: string
}

/** Maps a thrown or streamed error to the taxonomy. Packages differ, so it is identified by its fields. */
export function failureOf(error: unknown, source: Source): LonghaulError {
  if (LonghaulError.is(error)) return error
  const fields = describeError(error)
  const { requestId, keyName } = source
  if (malformations.has(fields.name)) return malformed("its package cannot parse it", requestId)
  if (fields.status >= 400) {
    const refusal = { status: fields.status, body: fields.message, header: (name: string) => fields.headers[name] }
    const named = {
      code: errorCode(fields),
      message: fields.message,
      requestId: requestIdOf(fields.headers) ?? requestId,
    }
    return refusalError(refusal, named, keyName)
  }
  const code = byName[fields.name]
  if (code !== undefined) {
    const fix = code === "auth" ? { fix: `Set ${keyName}, or pass apiKey to the model's package.` } : {}
    return new LonghaulError(code, fields.message, { cause: error, ...fix })
  }
  if (fields.isExchange || isLost(error)) {
    return new LonghaulError("network", "The connection to the provider failed.", { cause: error })
  }
  return brokenOff(errorCode(fields) ?? "provider_error", fields.message, requestId)
}

/** The request id header, as known servers spell it. */
export function requestIdOf(headers: Readonly<Record<string, string>> | undefined): string | undefined {
  return requestIdHeaders.map((name) => headers?.[name]).find((id) => id !== undefined)
}

const requestIdHeaders = ["x-request-id", "request-id", "x-goog-request-id", "x-amzn-requestid"]

interface ErrorFields {
  readonly name: string
  readonly message: string
  /** 0 if there was none. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The server's own error names, from wherever the package puts them. */
  readonly words: string
  /** True for a failure of the HTTP exchange: those have an address. */
  readonly isExchange: boolean
}

function describeError(error: unknown): ErrorFields {
  const fields = fieldsOf(error)
  const { statusCode, responseHeaders, responseBody, url } = fields
  // Some packages pass on the server's event unchanged, some its body as text.
  const inner = fieldsOf(fields.error)
  const body = fieldsOf(fieldsOf(parsed(responseBody)).error)
  const names = [fields, inner, body].flatMap(({ type, code, status }) => [type, code, status])
  const said = [error instanceof Error ? error.message : error, fields.message, inner.message]
  return {
    name: error instanceof Error ? error.name : "",
    message: said.find((text) => typeof text === "string") ?? "no reason given",
    status: typeof statusCode === "number" ? statusCode : 0,
    // Safe: the AI SDK says so of its errors, and a value that is no text is only compared.
    headers: fieldsOf(responseHeaders) as Readonly<Record<string, string>>,
    words: [...names, JSON.stringify(body.details)].join(" "),
    isExchange: typeof url === "string",
  }
}

function errorCode({ words, message, status }: ErrorFields): ErrorCode | undefined {
  if (/API_KEY_INVALID|invalid_api_key/.test(words)) return "auth"
  if (/insufficient_quota|billing_error/.test(words)) return "billing"
  if (/context_length_exceeded/.test(words) || isOverflow(message, status)) return "context_overflow"
  if (/overloaded/.test(words)) return "overloaded"
  if (/rate_limit/.test(words)) return "rate_limited"
  return undefined
}

const malformations: ReadonlySet<string> = new Set([
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_InvalidResponseDataError",
])

/** Errors that packages raise before sending anything. */
const byName: Readonly<Record<string, ErrorCode>> = {
  AI_LoadAPIKeyError: "auth",
  AI_LoadSettingError: "config_invalid",
  AI_NoSuchModelError: "model_not_found",
  AI_UnsupportedFunctionalityError: "invalid_request",
  AI_InvalidArgumentError: "invalid_request",
  AI_InvalidPromptError: "invalid_request",
}

/** Runtimes report a broken connection in different ways. */
function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error.name === "AbortError" || error.name === "TimeoutError") return true
  const codes = [fieldsOf(error).code, fieldsOf(error.cause).code]
  if (codes.some((code) => /^(E[A-Z]+|UND_ERR_[A-Z_]+)$/.test(String(code)))) return true
  return error instanceof TypeError && /fetch|terminated|network|load failed/i.test(error.message)
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {}
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}
