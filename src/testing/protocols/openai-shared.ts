import type { Json, JsonObject } from "../../contract/json.ts"
import type { CompleteAnswer, SimulatedMessage, SimulatedRequest, SimulatedToolResult } from "../simulated.ts"
import { isList, objectAt, textAt } from "./json-access.ts"
import type { Exchange, Refusal } from "./protocol.ts"

// Shared by OpenAI's two protocols.

export const REQUEST_ID_HEADER = "x-request-id"
/** The creation time of every simulated answer. */
export const CREATED_AT = 1_767_225_600

/** The common part of the ids of one answer. */
export function idOf({ messageId }: Exchange): string {
  return messageId.replace(/^msg_/, "")
}

/** Local compatible servers need no key, so a missing one is rejected only if one is configured. */
export function refuseKey({ headers }: SimulatedRequest, apiKey: string | undefined): Refusal | undefined {
  const key = headers.authorization?.replace(/^Bearer /i, "") ?? ""
  if (apiKey === undefined || key === apiKey) return undefined
  if (key === "") {
    return {
      status: 401,
      type: INVALID,
      message:
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    }
  }
  return { status: 401, message: `Incorrect API key provided: ${"*".repeat(key.length)}.` }
}

const INVALID = "invalid_request_error"

/** The body of an error response, and the content of a mid-stream error. */
export function errorBody({ status, type, message }: Refusal): JsonObject {
  const usual = usualErrors[status] ?? (status < 500 ? usualErrors[400] : usualErrors[500])
  return {
    error: {
      message: message ?? usual?.message ?? "",
      type: type ?? usual?.type ?? INVALID,
      param: null,
      code: type === undefined ? (usual?.code ?? null) : type === INVALID ? null : type,
    },
  }
}

const usualErrors: Readonly<
  Record<number, { readonly type: string; readonly code?: string; readonly message: string }>
> = {
  400: { type: INVALID, message: "Invalid request" },
  401: { type: INVALID, code: "invalid_api_key", message: "Incorrect API key provided." },
  403: { type: "request_forbidden", message: "Country, region, or territory not supported" },
  404: {
    type: INVALID,
    code: "model_not_found",
    message: "The model does not exist or you do not have access to it.",
  },
  413: { type: INVALID, message: "Request entity too large" },
  429: { type: "requests", code: "rate_limit_exceeded", message: "Rate limit reached on requests per min (RPM)" },
  500: { type: "server_error", message: "The server had an error while processing your request. Sorry about that!" },
}

/** Input includes cache reads and writes; `words` are the protocol's names. */
export function usageReport(
  { usage }: CompleteAnswer,
  words: { readonly input: string; readonly output: string },
): JsonObject {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  const input = inputTokens + cacheReadTokens + cacheWriteTokens
  return {
    [words.input]: input,
    [words.output]: outputTokens,
    total_tokens: input + outputTokens,
    [`${words.input}_details`]: {
      cached_tokens: cacheReadTokens,
      // Servers with automatic caching do not report it.
      ...(cacheWriteTokens > 0 && { cache_write_tokens: cacheWriteTokens }),
    },
    [`${words.output}_details`]: { reasoning_tokens: 0 },
  }
}

export function attachment(url: string, name: string): SimulatedMessage["attachments"][number] {
  const [, mediaType = "", data = ""] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? []
  return { mediaType, data, ...(name !== "" && { name }) }
}

/** Adjacent results are one message in our format: those of one turn. */
export function withResult(
  messages: readonly SimulatedMessage[],
  result: SimulatedToolResult,
): readonly SimulatedMessage[] {
  const last = messages.at(-1)
  if (last?.role !== "tool") return [...messages, { ...silence, role: "tool", toolResults: [result] }]
  return [...messages.slice(0, -1), { ...last, toolResults: [...last.toolResults, result] }]
}

export const silence: Omit<SimulatedMessage, "role"> = {
  text: "",
  attachments: [],
  signatures: [],
  toolCalls: [],
  toolResults: [],
}

/** Arguments as the model wrote them; invalid JSON stays text. */
export function parsedArguments(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function missing(parameter: string): string {
  return `Missing required parameter: '${parameter}'.`
}

export function unsupported(value: string, supported: readonly string[]): string {
  const quoted = supported.map((word) => `'${word}'`)
  return `Invalid value: '${value}'. Supported values are: ${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)}.`
}

export function tooLong(place: string, text: string, longest: number): string | undefined {
  return text.length > longest
    ? `Invalid '${place}': string too long. Expected a string with maximum length ${longest}, but got a string with length ${text.length} instead.`
    : undefined
}

export function toolNameProblem(place: string, name: string, longest: number): string | undefined {
  if (name === "") return missing(place)
  if (/^[a-zA-Z0-9_-]+$/.test(name)) return tooLong(place, name, longest)
  return `Invalid '${place}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
}

/** An output schema: named, an object, and closed throughout if strict. */
export function formatProblem(place: string, format: JsonObject): string | undefined {
  const name = textAt(format, "name")
  if (name === "") return missing(`${place}.name`)
  const schema = objectAt(format.schema)
  if (schema.type !== "object") {
    return `Invalid schema for response_format '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: "${schema.type ?? "None"}"'.`
  }
  const problem = format.strict === true ? strictProblem(schema) : undefined
  return problem === undefined ? undefined : `Invalid schema for response_format '${name}': ${problem}`
}

function strictProblem(schema: Json | undefined): string | undefined {
  if (isList(schema)) return schema.map(strictProblem).find((problem) => problem !== undefined)
  const { type, properties, required, additionalProperties, items, anyOf, $defs } = objectAt(schema)
  if (type === "object") {
    if (additionalProperties !== false) return "'additionalProperties' is required to be supplied and to be false."
    const listed = isList(required) ? required : []
    const left = Object.keys(objectAt(properties)).find((name) => !listed.includes(name))
    if (left !== undefined) {
      return `'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`
    }
  }
  return strictProblem([items, anyOf, properties, $defs].flatMap(schemasIn))
}

/** A schema itself, those of a list, or those of a map. */
function schemasIn(value: Json | undefined): readonly Json[] {
  if (value === undefined) return []
  if (isList(value)) return value
  const { type } = objectAt(value)
  return typeof type === "string" ? [value] : Object.values(objectAt(value))
}
