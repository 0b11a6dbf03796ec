import type { Json } from "../../contract/json.ts"
import type { Message, ReasoningPart, ToolCallPart } from "../../contract/message.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { BodyShape } from "../body-buffer.ts"
import type { AnthropicOptions } from "./options.ts"

/** The request body: everything that stays the same first, messages last, so that only the end ever changes. */
export function bodyShape(options: AnthropicOptions, setup: ConversationSetup): BodyShape {
  const cached = options.promptCache ?? true
  const maxOutputTokens = setup.maxOutputTokens ?? options.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS
  const thinking = options.thinkingTokens
  const tools = setup.tools.map(({ name, description, inputSchema }, index) => ({
    name,
    description,
    input_schema: inputSchema,
    // Without a system prompt the tools are the end of what every request shares.
    ...(cached && !setup.system && index === setup.tools.length - 1 && { cache_control: ephemeral }),
  }))
  const fixed = JSON.stringify({
    model: options.model,
    max_tokens: thinking === undefined ? maxOutputTokens : Math.max(maxOutputTokens, thinking + 1024),
    stream: true,
    ...(setup.temperature !== undefined && { temperature: setup.temperature }),
    ...(thinking !== undefined && { thinking: { type: "enabled", budget_tokens: thinking } }),
    ...(setup.system && {
      system: [{ type: "text", text: setup.system, ...(cached && { cache_control: ephemeral }) }],
    }),
    ...(tools.length > 0 && { tools }),
  })
  const origin = `anthropic:${options.model}`
  const ids = new WireIds()
  return {
    prefix: `${fixed.slice(0, -1)},"messages":[`,
    suffix: "]}",
    fragment: (message) => JSON.stringify(wireMessage(message, origin, ids)),
    ...(cached && { lastMessage: { plain: "}]}", marked: `,"cache_control":${JSON.stringify(ephemeral)}}]}` } }),
  }
}

const DEFAULT_OUTPUT_TOKENS = 8192
const ephemeral = { type: "ephemeral" }

/** `content` comes last, so that a message ends in its last block. */
function wireMessage(message: Message, origin: string, ids: WireIds): { role: string; content: Json[] } {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content.map(({ text }) => ({ type: "text", text })) }
    case "tool":
      return {
        role: "user",
        content: message.content.map(({ callId, status, output }) => ({
          type: "tool_result",
          tool_use_id: ids.ofResult(callId),
          ...(status !== "ok" && { is_error: true }),
          content: output.filter(({ text }) => text !== "").map(({ text }) => ({ type: "text", text })),
        })),
      }
    case "assistant":
      return { role: "assistant", content: message.content.flatMap((part) => assistantBlock(part, origin, ids)) }
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
      return part.origin === origin ? [reasoningBlock(part)] : []
    case "tool-call":
      return [
        {
          type: "tool_use",
          id: ids.ofCall(part),
          name: part.name,
          // The protocol takes objects only; what a model got wrong is in the result's error.
          input: isJsonObject(part.args) ? part.args : {},
        },
      ]
  }
}

function reasoningBlock(part: ReasoningPart): Json {
  if (isJsonObject(part.opaque) && "redacted" in part.opaque) {
    return { type: "redacted_thinking", data: part.opaque.redacted as Json }
  }
  return { type: "thinking", thinking: part.text, signature: part.opaque ?? "" }
}

/** The protocol wants every call of a conversation under its own id; servers and joined histories repeat theirs. */
class WireIds {
  readonly #used = new Set<string>()
  readonly #latest = new Map<string, string>()

  ofCall({ callId, wireId }: ToolCallPart): string {
    const wanted = (wireId ?? callId).replace(/[^A-Za-z0-9_-]/g, "_")
    let id = wanted
    for (let copy = 2; this.#used.has(id); copy++) id = `${wanted}_${copy}`
    this.#used.add(id)
    this.#latest.set(callId, id)
    return id
  }

  /** Results follow their calls directly, so the latest call of that name is theirs. */
  ofResult(callId: string): string {
    return this.#latest.get(callId) ?? callId
  }
}
