import type { Json, JsonObject } from "../../contract/json.ts"
import type { SimulatedRequest } from "../simulated.ts"
import { blocksOf, isList, listAt, objectAt, textAt } from "./json-access.ts"
import type { Refusal } from "./protocol.ts"

/** The Messages API's responses to invalid requests, with its exact messages if known. */
export function refuseAnthropic(request: SimulatedRequest, apiKey: string | undefined): Refusal | undefined {
  const unauthorised = refuseKey(request.headers, apiKey)
  if (unauthorised !== undefined) return { status: 401, message: unauthorised }
  const reason = invalidity(request)
  return reason === undefined ? undefined : { status: 400, message: reason }
}

const toolName = /^[a-zA-Z0-9_-]{1,128}$/
const callId = /^[a-zA-Z0-9_-]+$/
const cacheMarkLimit = 4
const modelsWithoutSystem = /^claude-(?:[123]\b|[a-z]+-4(?:-[0-7])?(?:-\d{8})?$)/

const blockTypes: ReadonlySet<string> = new Set([
  "text",
  "image",
  "document",
  "search_result",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "tool_result",
  "server_tool_use",
  "web_search_tool_result",
])

function refuseKey(headers: Readonly<Record<string, string>>, apiKey: string | undefined): string | undefined {
  const key = headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /i, "")
  if (key === undefined || key === "") return "x-api-key header is required"
  return apiKey !== undefined && key !== apiKey ? "invalid x-api-key" : undefined
}

function invalidity({ headers, body }: SimulatedRequest): string | undefined {
  if (headers["anthropic-version"] === undefined) return "anthropic-version: header is required"
  return (
    fieldProblem(objectAt(body)) ??
    toolsProblem(listAt(body, "tools")) ??
    systemProblem(textAt(body, "model"), listAt(body, "messages")) ??
    blocksProblem(listAt(body, "messages")) ??
    pairingProblem(listAt(body, "messages")) ??
    cacheProblem(body)
  )
}

function fieldProblem(body: JsonObject): string | undefined {
  for (const field of ["model", "max_tokens", "messages"]) {
    if (body[field] === undefined) return `${field}: Field required`
  }
  if (typeof body.model !== "string" || body.model === "") return "model: Input should be a valid string"
  if (!Number.isInteger(body.max_tokens)) return "max_tokens: Input should be a valid integer"
  if (Number(body.max_tokens) < 1) return "max_tokens: must be greater than or equal to 1"
  if (!isList(body.messages)) return "messages: Input should be a valid list"
  if (body.messages.length === 0) return "messages: at least one message is required"
  if (body.stream !== true) return "stream: the simulator answers streaming requests only"
  return undefined
}

function toolsProblem(tools: readonly Json[]): string | undefined {
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    const name = textAt(tool, "name")
    if (!toolName.test(name)) return `tools.${index}.custom.name: String should match pattern '${toolName.source}'`
    if (names.has(name)) return "tools: Tool names must be unique."
    names.add(name)
    // Tools run by the server have a type and no schema.
    const { type = "custom", input_schema: schema } = objectAt(tool)
    if (type === "custom" && objectAt(schema).type !== "object") {
      return `tools.${index}.custom.input_schema.type: Field required`
    }
  }
  return undefined
}

/** Newer models take a message of the role `system` behind one of the user, and no others. */
function systemProblem(model: string, messages: readonly Json[]): string | undefined {
  const at = messages.findIndex((message, index) => {
    if (textAt(message, "role") !== "system") return false
    const isText = blocksOf(objectAt(message).content).every(({ type }) => type === "text")
    return modelsWithoutSystem.test(model) || textAt(messages[index - 1], "role") !== "user" || !isText
  })
  if (at === -1) return undefined
  if (modelsWithoutSystem.test(model)) return `messages.${at}.role: role 'system' is not supported on this model`
  return `messages.${at}: a message with the role 'system' must have text alone and follow a message with the role 'user'`
}

function blocksProblem(messages: readonly Json[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const role = textAt(message, "role")
    if (role !== "user" && role !== "assistant" && role !== "system") {
      return `messages.${index}.role: Input should be 'user', 'assistant' or 'system'`
    }
    const blocks = blocksOf(objectAt(message).content)
    if (blocks.length === 0 && !(role === "assistant" && index === messages.length - 1)) {
      return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
    }
    for (const [position, block] of blocks.entries()) {
      const problem = blockProblem(block, role, `messages.${index}.content.${position}`)
      if (problem !== undefined) return problem
    }
  }
  return textAt(messages[0], "role") === "user" ? undefined : 'messages: first message must use the "user" role'
}

function blockProblem(block: JsonObject, role: string, place: string): string | undefined {
  const type = textAt(block, "type")
  if (!blockTypes.has(type)) return `${place}: Input tag '${type}' does not match any of the expected tags`
  if (type === "text") return textProblem(block)
  if (type === "thinking" && typeof block.signature !== "string") return `${place}.thinking.signature: Field required`
  if (type === "tool_use") {
    if (role !== "assistant") return `${place}: \`tool_use\` blocks can only be in \`assistant\` messages`
    if (!callId.test(textAt(block, "id"))) {
      return `${place}.tool_use.id: String should match pattern '${callId.source}'`
    }
    if (!toolName.test(textAt(block, "name"))) {
      return `${place}.tool_use.name: String should match pattern '${toolName.source}'`
    }
    if (block.input !== objectAt(block.input)) return `${place}.tool_use.input: Input should be a valid dictionary`
  }
  if (type === "tool_result") {
    if (role !== "user") return `${place}: \`tool_result\` blocks can only be in \`user\` messages`
    // A result may be empty, but must not contain an empty block.
    if (isList(block.content) && blocksOf(block.content).some((inner) => inner.type === "text" && inner.text === "")) {
      return "messages: text content blocks must be non-empty"
    }
    return resultProblem(block, place)
  }
  return type === "image" || type === "document" ? sourceProblem(block, place) : undefined
}

function resultProblem({ is_error: isError, content }: JsonObject, place: string): string | undefined {
  const inner = blocksOf(content)
  if (isError === true && inner.some(({ type }) => type !== "text")) {
    return `${place}.tool_result: all content must be type "text" if \`is_error\` is true`
  }
  return inner
    .filter(({ type }) => type === "image" || type === "document")
    .map((block, index) => sourceProblem(block, `${place}.tool_result.content.${index}`))
    .find((problem) => problem !== undefined)
}

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"]
const MAX_IMAGE_BYTES = 5 * 1024 * 1024

/** Sizes are counted as sent, in base64. */
function sourceProblem({ type, source }: JsonObject, place: string): string | undefined {
  if (objectAt(source).type !== "base64") return undefined
  const [mediaType, data] = [textAt(source, "media_type"), textAt(source, "data")]
  const known = type === "image" ? imageTypes : ["application/pdf"]
  if (!known.includes(mediaType)) {
    const quoted = known.map((word) => `'${word}'`)
    const last = quoted.pop()
    const expected = quoted.length > 0 ? `${quoted.join(", ")} or ${last}` : last
    return `${place}.${type}.source.base64.media_type: Input should be ${expected}`
  }
  if (type === "image" && data.length > MAX_IMAGE_BYTES) {
    return `${place}.image.source.base64: image exceeds 5 MB maximum: ${data.length} bytes > ${MAX_IMAGE_BYTES} bytes`
  }
  return undefined
}

function textProblem(block: JsonObject): string | undefined {
  const text = textAt(block, "text")
  if (text === "") return "messages: text content blocks must be non-empty"
  return text.trim() === "" ? "messages: text content blocks must contain non-whitespace text" : undefined
}

/** Adjacent messages of one role count as one, as on the real server. */
function pairingProblem(messages: readonly Json[]): string | undefined {
  const seen = new Set<string>()
  let open: readonly string[] = []
  for (const { role, blocks, index } of turnsOf(messages)) {
    if (role === "system") continue
    const calls = blocks.filter((block) => block.type === "tool_use").map((block) => textAt(block, "id"))
    const results = blocks.filter((block) => block.type === "tool_result").map((block) => textAt(block, "tool_use_id"))
    const strange = results.find((id) => !open.includes(id))
    if (strange !== undefined) {
      return `messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${strange}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    }
    const leading = leadingResults(blocks)
    const unanswered = open.filter((id) => !leading.includes(id))
    if (unanswered.length > 0) return missingResults(index - 1, unanswered)
    if (new Set(results).size < results.length) {
      return `messages.${index}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${results.join(", ")}`
    }
    for (const id of calls) {
      if (seen.has(id)) return `messages.${index}.content: \`tool_use\` ids must be unique`
      seen.add(id)
    }
    open = role === "assistant" ? calls : []
  }
  return open.length > 0 ? missingResults(messages.length - 1, open) : undefined
}

interface Turn {
  readonly role: string
  readonly blocks: JsonObject[]
  /** Of its first message. */
  readonly index: number
}

function turnsOf(messages: readonly Json[]): readonly Turn[] {
  const turns: Turn[] = []
  for (const [index, message] of messages.entries()) {
    const role = textAt(message, "role")
    const blocks = blocksOf(objectAt(message).content)
    const last = turns.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    else turns.push({ role, blocks: [...blocks], index })
  }
  return turns
}

/** Results count only before any other block. */
function leadingResults(blocks: readonly JsonObject[]): readonly string[] {
  const end = blocks.findIndex((block) => block.type !== "tool_result")
  return (end === -1 ? blocks : blocks.slice(0, end)).map((block) => textAt(block, "tool_use_id"))
}

function missingResults(index: number, ids: readonly string[]): string {
  return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
}

function cacheProblem(body: Json): string | undefined {
  const blocks = [
    ...blocksOf(objectAt(body).system),
    ...listAt(body, "tools").map(objectAt),
    ...listAt(body, "messages").flatMap((message) => blocksOf(objectAt(message).content)),
  ]
  const nested = blocks.flatMap((block) => (block.type === "tool_result" ? blocksOf(block.content) : []))
  const marked = [objectAt(body), ...blocks, ...nested].filter((block) => (block.cache_control ?? null) !== null)
  return marked.length > cacheMarkLimit
    ? `A maximum of ${cacheMarkLimit} blocks with cache_control may be provided. Found ${marked.length}.`
    : undefined
}
