import type { Json, JsonObject } from "../../contract/json.ts"
import type { SimulatedRequest } from "../simulated.ts"
import { blocksOf, isList, listAt, objectAt, textAt } from "./json-access.ts"
import { formatProblem, missing, refuseKey, tooLong, toolNameProblem, unsupported } from "./openai-shared.ts"
import type { Refusal } from "./protocol.ts"

/** Chat Completions' responses to invalid requests, with its exact messages if known. */
export function refuseChat(request: SimulatedRequest, apiKey: string | undefined): Refusal | undefined {
  const unauthorised = refuseKey(request, apiKey)
  if (unauthorised !== undefined) return unauthorised
  const body = objectAt(request.body)
  const messages = listAt(body, "messages")
  const message =
    fieldProblem(body) ?? toolsProblem(listAt(body, "tools")) ?? messagesProblem(messages) ?? pairingProblem(messages)
  return message === undefined ? undefined : { status: 400, message }
}

const roles = ["system", "assistant", "user", "function", "tool", "developer"]
const contentTypes = ["text", "image_url", "input_audio", "refusal", "audio", "file"]
const MAX_NAME_LENGTH = 64
const MAX_ID_LENGTH = 40

function fieldProblem(body: JsonObject): string | undefined {
  if (textAt(body, "model") === "") return "you must provide a model parameter"
  if (!isList(body.messages)) return missing("messages")
  if (body.messages.length === 0) {
    return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
  }
  if (body.stream !== true) return "stream: the simulator answers streaming requests only"
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) {
    return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
  }
  const format = objectAt(body.response_format)
  return format.type === "json_schema"
    ? formatProblem("response_format.json_schema", objectAt(format.json_schema))
    : undefined
}

function toolsProblem(tools: readonly Json[]): string | undefined {
  for (const [index, tool] of tools.entries()) {
    const { type, function: described } = objectAt(tool)
    if (type !== "function") return unsupported(String(type), ["function", "custom"])
    const problem = toolNameProblem(`tools[${index}].function.name`, textAt(described, "name"), MAX_NAME_LENGTH)
    if (problem !== undefined) return problem
  }
  return undefined
}

function messagesProblem(messages: readonly Json[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const problem = messageProblem(objectAt(message), `messages[${index}]`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function messageProblem(message: JsonObject, place: string): string | undefined {
  const role = textAt(message, "role")
  if (!roles.includes(role)) return unsupported(role, roles)
  const calls = listAt(message, "tool_calls")
  const { content = null } = message
  if (content === null && calls.length === 0) return `Invalid value for 'content': expected a string, got null.`
  const strange = blocksOf(content).find(({ type }) => !contentTypes.includes(String(type)))
  if (strange !== undefined) return unsupported(String(strange.type), contentTypes)
  if (role !== "user" && blocksOf(content).some(({ type }) => type === "image_url")) {
    return `Invalid '${place}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`
  }
  if (role === "tool" && textAt(message, "tool_call_id") === "") return missing(`${place}.tool_call_id`)
  return calls
    .map((call, index) => callProblem(objectAt(call), `${place}.tool_calls[${index}]`))
    .find((problem) => problem !== undefined)
}

function callProblem(call: JsonObject, place: string): string | undefined {
  if (textAt(call, "id") === "") return missing(`${place}.id`)
  if (call.type !== "function") return missing(`${place}.type`)
  if (typeof objectAt(call.function).arguments !== "string") {
    return `Invalid type for '${place}.function.arguments': expected a string, but got something else instead.`
  }
  return (
    tooLong(`${place}.id`, textAt(call, "id"), MAX_ID_LENGTH) ??
    toolNameProblem(`${place}.function.name`, textAt(call.function, "name"), MAX_NAME_LENGTH)
  )
}

function pairingProblem(messages: readonly Json[]): string | undefined {
  let open: readonly string[] = []
  for (const message of messages) {
    if (textAt(message, "role") === "tool") {
      const id = textAt(message, "tool_call_id")
      if (!open.includes(id)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
      }
      open = open.filter((each) => each !== id)
    } else {
      if (open.length > 0) break
      open = listAt(message, "tool_calls").map((call) => textAt(call, "id"))
    }
  }
  return open.length > 0
    ? `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`
    : undefined
}
