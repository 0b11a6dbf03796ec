import type { Json, JsonObject } from "../../contract/json.ts"
import type { SimulatedRequest } from "../simulated.ts"
import { blocksOf, isList, listAt, objectAt, textAt } from "./json-access.ts"
import type { Refusal } from "./protocol.ts"

/** The Gemini API's responses to invalid requests, with its exact messages if known. */
export function refuseGoogle(request: SimulatedRequest, apiKey: string | undefined): Refusal | undefined {
  const key = request.headers["x-goog-api-key"] ?? ""
  if (key === "") return { status: 403, message: "Method doesn't allow unregistered callers." }
  if (apiKey !== undefined && key !== apiKey) {
    return { status: 400, type: "API_KEY_INVALID", message: "API key not valid. Please pass a valid API key." }
  }
  const reason = invalidity(request)
  return reason === undefined ? undefined : { status: 400, message: reason }
}

/** Replaces the signature of a call made by another model. */
export const UNSIGNED = "skip_thought_signature_validator"

/**
 * The third generation signs its calls, requires the signatures back, and supports combinations that older ones do not.
 */
export function signsCalls(model: string): boolean {
  return /gemini-([3-9]|\d\d)/.test(model)
}

const functionName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/

const dataFields: ReadonlySet<string> = new Set([
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
])
const otherFields: ReadonlySet<string> = new Set(["thought", "thoughtSignature", "videoMetadata"])

function invalidity({ body, model }: SimulatedRequest): string | undefined {
  const contents = listAt(body, "contents")
  return (
    fieldProblem(objectAt(body)) ??
    toolsProblem(listAt(body, "tools").flatMap((tool) => listAt(tool, "functionDeclarations"))) ??
    configProblem(objectAt(body), model) ??
    contentsProblem(contents, model) ??
    pairingProblem(contents) ??
    (signsCalls(model) ? signatureProblem(contents) : undefined)
  )
}

const bodyFields: ReadonlySet<string> = new Set([
  "contents",
  "systemInstruction",
  "tools",
  "toolConfig",
  "safetySettings",
  "generationConfig",
  "cachedContent",
])

function fieldProblem(body: JsonObject): string | undefined {
  const unknown = Object.keys(body).find((field) => !bodyFields.has(field))
  if (unknown !== undefined) return `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`
  if (!isList(body.contents) || body.contents.length === 0) {
    return "* GenerateContentRequest.contents: contents is not specified\n"
  }
  return undefined
}

function toolsProblem(declarations: readonly Json[]): string | undefined {
  const names = new Set<string>()
  for (const [index, declaration] of declarations.entries()) {
    const name = textAt(declaration, "name")
    if (!functionName.test(name)) {
      return `* GenerateContentRequest.tools[0].function_declarations[${index}].name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 64.\n`
    }
    if (names.has(name)) return `Duplicate function declaration found: ${name}`
    names.add(name)
    const { parameters, parametersJsonSchema } = objectAt(declaration)
    if (parameters !== undefined && parametersJsonSchema !== undefined) {
      return `* GenerateContentRequest.tools[0].function_declarations[${index}]: only one of parameters and parameters_json_schema may be set.\n`
    }
  }
  return undefined
}

function configProblem({ generationConfig, tools }: JsonObject, model: string): string | undefined {
  const { thinkingConfig, responseMimeType, responseJsonSchema, responseSchema } = objectAt(generationConfig)
  const { thinkingBudget, thinkingLevel } = objectAt(thinkingConfig)
  if (thinkingBudget !== undefined && thinkingLevel !== undefined) {
    return "You can only set only one of thinking budget and thinking level."
  }
  if (thinkingLevel !== undefined && !signsCalls(model)) return "Thinking level is not supported for this model."
  if ((responseJsonSchema ?? responseSchema) !== undefined && responseMimeType !== "application/json") {
    return "A response schema is only supported with the response mime type 'application/json'."
  }
  if (responseMimeType === "application/json" && isList(tools) && tools.length > 0 && !signsCalls(model)) {
    return "Function calling with a response mime type: 'application/json' is unsupported"
  }
  return undefined
}

function contentsProblem(contents: readonly Json[], model: string): string | undefined {
  for (const [index, content] of contents.entries()) {
    const role = textAt(content, "role")
    if (role !== "" && role !== "user" && role !== "model") return "Please use a valid role: user, model."
    const parts = partsOf(content)
    if (parts.length === 0) {
      return `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`
    }
    for (const [position, part] of parts.entries()) {
      const place = `contents[${index}].parts[${position}]`
      const problem = partProblem(part, role, place) ?? responseProblem(part, model, place)
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

function partProblem(part: JsonObject, role: string, place: string): string | undefined {
  const fields = Object.keys(part)
  const unknown = fields.find((field) => !dataFields.has(field) && !otherFields.has(field))
  if (unknown !== undefined) {
    return `Invalid JSON payload received. Unknown name "${unknown}" at '${place}': Cannot find field.`
  }
  const [data, second] = fields.filter((field) => dataFields.has(field))
  if (data === undefined) {
    return `* GenerateContentRequest.${place}.data: required oneof field 'data' must have one initialized field\n`
  }
  if (second !== undefined) {
    return `Invalid value at '${place}' (oneof), oneof field 'data' is already set. Cannot set '${second}'`
  }
  const { functionCall, functionResponse, inlineData } = part
  if (inlineData !== undefined && (textAt(inlineData, "mimeType") === "" || textAt(inlineData, "data") === "")) {
    return `* GenerateContentRequest.${place}.inline_data: mime_type and data are required\n`
  }
  if (functionCall !== undefined) {
    if (role !== "model") return "Please ensure that function call parts come from the model."
    return functionProblem(functionCall, "args", `${place}.function_call`)
  }
  if (functionResponse !== undefined) {
    if (role === "model") return "Please ensure that function response parts come from the user."
    return functionProblem(functionResponse, "response", `${place}.function_response`)
  }
  return undefined
}

/** Media inside a response is supported since the third generation. */
function responseProblem({ functionResponse }: JsonObject, model: string, place: string): string | undefined {
  const parts = partsOf(functionResponse)
  if (parts.length === 0) return undefined
  if (!signsCalls(model)) return "Multimodal function responses are not supported for this model."
  return parts
    .map((part, index) => partProblem(part, "user", `${place}.function_response.parts[${index}]`))
    .find((problem) => problem !== undefined)
}

function functionProblem(value: Json, field: "args" | "response", place: string): string | undefined {
  if (textAt(value, "name") === "") return `* GenerateContentRequest.${place}.name: Name cannot be empty.\n`
  const struct = objectAt(value)[field] ?? {}
  if (struct !== objectAt(struct))
    return `Invalid value at '${place}.${field}' (type.googleapis.com/google.protobuf.Struct)`
  return undefined
}

function pairingProblem(contents: readonly Json[]): string | undefined {
  let open: readonly JsonObject[] = []
  for (const [index, content] of contents.entries()) {
    const parts = partsOf(content)
    const responses = fieldsOf(parts, "functionResponse")
    if (open.length === 0 && responses.length > 0) {
      return "Please ensure that function response turn comes immediately after a function call turn."
    }
    if (responses.length !== open.length) return unequal
    if (responses.some((response) => !open.some((call) => isAnswered(call, response)))) {
      return "Please ensure that every function response belongs to a function call of the turn before it."
    }
    open = fieldsOf(parts, "functionCall")
    const before = contents[index - 1]
    if (open.length > 0 && (before === undefined || textAt(before, "role") === "model")) {
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
    }
  }
  return open.length > 0 ? unequal : undefined
}

const unequal =
  "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."

function isAnswered(call: JsonObject, response: JsonObject): boolean {
  const id = textAt(response, "id")
  return textAt(call, "name") === textAt(response, "name") && (id === "" || id === textAt(call, "id"))
}

/** Only the current turn is checked: messages before the user's last one are accepted as they are. */
function signatureProblem(contents: readonly Json[]): string | undefined {
  const start = contents.findLastIndex(
    (content) => textAt(content, "role") !== "model" && fieldsOf(partsOf(content), "functionResponse").length === 0,
  )
  for (const content of contents.slice(start + 1)) {
    const parts = partsOf(content)
    const position = parts.findIndex(({ functionCall }) => functionCall !== undefined)
    if (position !== -1 && textAt(parts[position], "thoughtSignature") === "") {
      const name = textAt(parts[position]?.functionCall, "name")
      return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\`, position ${position + 1}.`
    }
  }
  return undefined
}

function partsOf(content: Json | undefined): readonly JsonObject[] {
  return blocksOf(objectAt(content).parts)
}

function fieldsOf(parts: readonly JsonObject[], field: string): readonly JsonObject[] {
  return parts.flatMap((part) => (part[field] === undefined ? [] : [objectAt(part[field])]))
}
