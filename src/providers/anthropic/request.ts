import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { Message, ReasoningPart, ToolResultPart } from "../../contract/message.ts"
import type { Effort } from "../../contract/model-settings.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import { plainText } from "../../lib/content.ts"
import { isJsonObject } from "../../lib/json.ts"
import { closedSchema } from "../../lib/schema/output-schema.ts"
import type { BodyShape } from "../body-buffer.ts"
import { WireIds } from "../wire-ids.ts"
import type { AnthropicOptions } from "./options.ts"

/** The request body: constant parts first, messages last, so that only the end ever changes. */
export function bodyShape(options: AnthropicOptions, setup: ConversationSetup): BodyShape {
  const cached = options.promptCache ?? true
  const thinking = thinkingOf(options, setup.effort)
  const asked = setup.maxOutputTokens ?? options.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS
  // Thinking counts as output: it must not use up the whole answer.
  const maxOutputTokens = thinking.tokens === undefined ? asked : Math.max(asked, thinking.tokens + 1024)
  const tools = setup.tools.map(({ name, description, inputSchema }, index) => ({
    name,
    description,
    input_schema: inputSchema,
    // Without a system prompt the tools are the end of the shared prefix.
    ...(cached && !setup.system && index === setup.tools.length - 1 && { cache_control: ephemeral }),
  }))
  const fixed = JSON.stringify({
    model: options.model,
    max_tokens: maxOutputTokens,
    stream: true,
    temperature: setup.temperature,
    top_p: options.topP,
    top_k: options.topK,
    stop_sequences: options.stopSequences,
    ...thinking.fields,
    output_config: outputConfig(options, setup, thinking),
    ...(setup.system && {
      system: [{ type: "text", text: setup.system, ...(cached && { cache_control: ephemeral }) }],
    }),
    ...(tools.length > 0 && { tools }),
  })
  const origin = `anthropic:${options.model}`
  const ids = new WireIds({ refused: /[^A-Za-z0-9_-]/g })
  return {
    prefix: `${fixed.slice(0, -1)},"messages":[`,
    suffix: "]}",
    maxOutputTokens,
    fragment: (message) => JSON.stringify(wireMessage(message, origin, ids)),
    ...(cached && { lastMessage: { plain: "}]}", marked: `,"cache_control":${JSON.stringify(ephemeral)}}]}` } }),
  }
}

export const DEFAULT_OUTPUT_TOKENS = 8192
const ephemeral = { type: "ephemeral" }

/** Models without structured output: they are instructed in text, and still checked by us. */
export function enforcesSchema(model: string): boolean {
  return !/claude-(instant|2|3|(opus|sonnet)-4(-0|-\d{8})?$)/.test(model)
}

interface Thinking {
  /** The thinking budget, if given in tokens. */
  readonly tokens?: number
  readonly fields?: JsonObject
  readonly effort?: string
}

/** Older models take a number of tokens, newer ones an effort. */
function thinkingOf({ model, thinkingTokens }: AnthropicOptions, effort: Effort | undefined): Thinking {
  const takesTokens = /claude-(3|(opus|sonnet|haiku)-4(-[015])?(-\d{8})?$)/.test(model)
  const tokens = thinkingTokens ?? (takesTokens && effort !== undefined ? effortTokens[effort] : undefined)
  if (tokens !== undefined) {
    return tokens === 0 ? {} : { tokens, fields: { thinking: { type: "enabled", budget_tokens: tokens } } }
  }
  if (effort === undefined) return {}
  if (effort === "minimal") return { effort: "low" }
  return { effort, fields: { thinking: { type: "adaptive" } } }
}

const effortTokens: Readonly<Record<Effort, number>> = {
  minimal: 0,
  low: 2048,
  medium: 8192,
  high: 16_384,
  max: 32_000,
}

function outputConfig(
  { model }: AnthropicOptions,
  { outputSchema }: ConversationSetup,
  { effort }: Thinking,
): JsonObject | undefined {
  const schema = outputSchema && enforcesSchema(model) ? closedSchema(outputSchema) : undefined
  if (schema === undefined && effort === undefined) return undefined
  return { ...(effort && { effort }), ...(schema && { format: { type: "json_schema", schema } }) }
}

/** `content` comes last, so that a message ends in its last block. */
function wireMessage(message: Message, origin: string, ids: WireIds): { role: string; content: Json[] } {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content.map(contentBlock) }
    case "tool":
      return {
        role: "user",
        content: message.content.map((part) => resultBlock(part, ids)),
      }
    case "assistant":
      return { role: "assistant", content: message.content.flatMap((part) => assistantBlock(part, origin, ids)) }
  }
}

function resultBlock({ callId, status, output }: ToolResultPart, ids: WireIds): Json {
  const tool_use_id = ids.ofResult(callId)
  const isEmpty = (part: ContentPart) => part.type === "text" && part.text === ""
  if (status === "ok") {
    return { type: "tool_result", tool_use_id, content: output.filter((part) => !isEmpty(part)).map(contentBlock) }
  }
  // A failed result may contain only text.
  const text = plainText(output, "\n")
  return { type: "tool_result", tool_use_id, is_error: true, content: text === "" ? [] : [{ type: "text", text }] }
}

function contentBlock(part: ContentPart): Json {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text }
    case "image":
      return { type: "image", source: { type: "base64", media_type: part.mediaType, data: part.data } }
    case "file":
      return {
        type: "document",
        source: { type: "base64", media_type: part.mediaType, data: part.data },
        ...(part.name !== undefined && { title: part.name }),
      }
  }
}

function assistantBlock(
  part: (Message & { role: "assistant" })["content"][number],
  origin: string,
  ids: WireIds,
): Json[] {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: part.text }]
    case "reasoning":
      return part.origin === origin ? reasoningBlocks(part) : []
    case "tool-call":
      return [
        {
          type: "tool_use",
          id: ids.ofCall(part),
          name: part.name,
          // The protocol accepts only objects; the model's mistake is in the result's error.
          input: isJsonObject(part.args) ? part.args : {},
        },
      ]
  }
}

/** Data signed by another client is useless to this server, which would reject it. */
function reasoningBlocks({ text, opaque = "" }: ReasoningPart): Json[] {
  if (typeof opaque === "string") return [{ type: "thinking", thinking: text, signature: opaque }]
  if (!isJsonObject(opaque) || opaque.redacted === undefined) return []
  return [{ type: "redacted_thinking", data: opaque.redacted }]
}
