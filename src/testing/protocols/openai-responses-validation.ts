import type { Json, JsonObject } from "../../contract/json.ts"
import type { SimulatedRequest } from "../simulated.ts"
import { blocksOf, isList, listAt, objectAt, textAt } from "./json-access.ts"
import { formatProblem, missing, refuseKey, tooLong, toolNameProblem, unsupported } from "./openai-shared.ts"
import type { Refusal } from "./protocol.ts"

/** The Responses API's responses to invalid requests, with its exact messages if known. */
export function refuseResponses(request: SimulatedRequest, apiKey: string | undefined): Refusal | undefined {
  const unauthorised = refuseKey(request, apiKey)
  if (unauthorised !== undefined) return unauthorised
  const body = objectAt(request.body)
  const items = listAt(body, "input").map(objectAt)
  const message =
    fieldProblem(body) ??
    toolsProblem(listAt(body, "tools")) ??
    items.map(itemProblem).find((problem) => problem !== undefined) ??
    pairingProblem(items)
  return message === undefined ? forgotten(items) : { status: 400, message }
}

const fields: ReadonlySet<string> = new Set(
  "background client_metadata context_management conversation include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user".split(
    " ",
  ),
)
const roles = ["assistant", "system", "developer", "user"]
const userContent = ["input_text", "input_image", "input_file", "input_audio"]
const resultContent = ["input_text", "input_image", "input_file"]
const assistantContent = ["output_text", "refusal"]
const itemTypes = ["message", "reasoning", "function_call", "function_call_output", "item_reference"]
const MAX_NAME_LENGTH = 128
const MAX_ID_LENGTH = 64
const MIN_OUTPUT_TOKENS = 16

function fieldProblem(body: JsonObject): string | undefined {
  const strange = Object.keys(body).find((field) => !fields.has(field))
  if (strange !== undefined) return `Unknown parameter: '${strange}'.`
  if (textAt(body, "model") === "") return missing("model")
  const { input, stream, max_output_tokens: limit, text } = body
  if (input === undefined || (isList(input) && input.length === 0)) {
    return `One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.`
  }
  if (stream !== true) return "stream: the simulator answers streaming requests only"
  if (typeof limit === "number" && limit < MIN_OUTPUT_TOKENS) {
    return `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT_TOKENS}, but got ${limit} instead.`
  }
  const format = objectAt(objectAt(text).format)
  return format.type === "json_schema" ? formatProblem("text.format", format) : undefined
}

function toolsProblem(tools: readonly Json[]): string | undefined {
  for (const [index, tool] of tools.entries()) {
    if (objectAt(tool).type !== "function") continue
    const problem = toolNameProblem(`tools[${index}].name`, textAt(tool, "name"), MAX_NAME_LENGTH)
    if (problem !== undefined) return problem
  }
  return undefined
}

function itemProblem(item: JsonObject, index: number): string | undefined {
  const place = `input[${index}]`
  const { type = "message" } = item
  if (!itemTypes.includes(String(type))) return unsupported(String(type), itemTypes)
  if (type === "message") return messageProblem(item, place)
  if (type === "reasoning") return isList(item.summary) ? undefined : missing(`${place}.summary`)
  if (type === "item_reference") return undefined
  if (textAt(item, "call_id") === "") return missing(`${place}.call_id`)
  const called = type === "function_call" ? callProblem(item, place) : undefined
  if (type === "function_call_output" && item.output === undefined) return missing(`${place}.output`)
  const strange = blocksOf(isList(item.output) ? item.output : []).find((block) => !isResultContent(block))
  if (strange !== undefined) return unsupported(String(strange.type), resultContent)
  return called ?? tooLong(`${place}.call_id`, textAt(item, "call_id"), MAX_ID_LENGTH)
}

function isResultContent({ type }: JsonObject): boolean {
  return resultContent.includes(String(type))
}

function messageProblem(item: JsonObject, place: string): string | undefined {
  const role = textAt(item, "role")
  if (!roles.includes(role)) return unsupported(role, roles)
  if (typeof item.content === "string") return undefined
  if (!isList(item.content)) return missing(`${place}.content`)
  const allowed = role === "assistant" ? assistantContent : userContent
  const strange = blocksOf(item.content).find(({ type }) => !allowed.includes(String(type)))
  return strange === undefined ? undefined : unsupported(String(strange.type), allowed)
}

function callProblem(item: JsonObject, place: string): string | undefined {
  if (typeof item.arguments !== "string") return missing(`${place}.arguments`)
  return toolNameProblem(`${place}.name`, textAt(item, "name"), MAX_NAME_LENGTH)
}

function pairingProblem(items: readonly JsonObject[]): string | undefined {
  const open = new Set<string>()
  for (const [index, item] of items.entries()) {
    const id = textAt(item, "call_id")
    if (item.type === "function_call") open.add(id)
    if (item.type === "function_call_output" && !open.delete(id)) {
      return `No tool call found for function call output with call_id ${id}.`
    }
    if (item.type === "reasoning" && !isOfModel(items[index + 1])) {
      return `Item '${textAt(item, "id")}' of type 'reasoning' was provided without its required following item.`
    }
  }
  const [unanswered] = open
  return unanswered === undefined ? undefined : `No tool output found for function call ${unanswered}.`
}

function isOfModel(item: JsonObject | undefined): boolean {
  return item?.type === "reasoning" || item?.type === "function_call" || item?.role === "assistant"
}

/** Nothing is stored here, so a thought has to include its content. */
function forgotten(items: readonly JsonObject[]): Refusal | undefined {
  const lost = items.find(({ type, encrypted_content: sealed }) => type === "reasoning" && typeof sealed !== "string")
  if (lost === undefined) return undefined
  return {
    status: 404,
    type: "invalid_request_error",
    message: `Item with id '${textAt(lost, "id")}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
  }
}
