import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { AssistantMessage, Message, ReasoningPart, ToolMessage } from "../../contract/message.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { BodyShape } from "../body-buffer.ts"
import { resultMedia } from "../result-media.ts"
import { WireIds } from "../wire-ids.ts"
import { argumentsText, dataUrl, fileName, namedSchema, resultText } from "./content.ts"
import { effortWord, reasons } from "./effort.ts"
import type { OpenAiSetup } from "./options.ts"

/** The body of a Chat Completions request: messages last, with the system prompt first among them. */
export function chatShape(options: OpenAiSetup, setup: ConversationSetup): BodyShape {
  const { model, topP, stopSequences, seed, structuredOutput, isOpenAi } = options
  const { system, tools, temperature, effort, outputSchema } = setup
  const maxOutputTokens = setup.maxOutputTokens ?? options.maxOutputTokens
  const fixed = JSON.stringify({
    model,
    stream: true,
    stream_options: { include_usage: true },
    // OpenAI's reasoning models accept only the new name, other servers often only the old one.
    ...(isOpenAi ? { max_completion_tokens: maxOutputTokens } : { max_tokens: maxOutputTokens }),
    temperature,
    top_p: topP,
    stop: stopSequences,
    seed,
    ...(effort !== undefined && reasons(model) && { reasoning_effort: effortWord(model, effort) }),
    ...(outputSchema !== undefined &&
      structuredOutput && { response_format: { type: "json_schema", json_schema: namedSchema(outputSchema) } }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        function: { name, description, parameters: inputSchema },
      })),
    }),
  })
  const origin = `${options.provider}:${model}`
  const ids = new WireIds({ longest: 40 })
  // A conversation always has a message, so the comma after the system prompt is never the last.
  const first = system ? `${JSON.stringify({ role: "system", content: system })},` : ""
  return {
    prefix: `${fixed.slice(0, -1)},"messages":[${first}`,
    suffix: "]}",
    fragment: (message) =>
      wireMessages(message, origin, ids)
        .map((wire) => JSON.stringify(wire))
        .join(","),
  }
}

/** At least one: each tool result is a separate message. */
function wireMessages(message: Message, origin: string, ids: WireIds): readonly JsonObject[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: userContent(message.content) }]
    case "tool":
      return [
        ...message.content.map((part) => ({
          role: "tool",
          tool_call_id: ids.ofResult(part.callId),
          content: resultText(part),
        })),
        ...mediaMessages(message, ids),
      ]
    case "assistant":
      return [assistantMessage(message, origin, ids)]
  }
}

/** A result is text only here: its images and documents follow all results, as if a user had sent them. */
function mediaMessages(message: ToolMessage, ids: WireIds): readonly JsonObject[] {
  const shown = resultMedia(message, ids)
  return shown.length > 0 ? [{ role: "user", content: shown.map(contentPart) }] : []
}

/** Many servers accept plain text only as a string. */
function userContent(content: readonly ContentPart[]): Json {
  const [part] = content
  return content.length === 1 && part?.type === "text" ? part.text : content.map(contentPart)
}

function contentPart(part: ContentPart): Json {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text }
    case "image":
      return { type: "image_url", image_url: { url: dataUrl(part) } }
    case "file":
      return { type: "file", file: { filename: fileName(part), file_data: dataUrl(part) } }
  }
}

function assistantMessage({ content }: AssistantMessage, origin: string, ids: WireIds): JsonObject {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []))
  const reasoning = content.flatMap((part) => (part.type === "reasoning" && goesBack(part, origin) ? [part.text] : []))
  const calls = content.flatMap((part) => (part.type === "tool-call" ? [part] : []))
  return {
    role: "assistant",
    content: texts.length === 0 && calls.length > 0 ? null : texts.join("\n"),
    ...(reasoning.length > 0 && { [REASONING_FIELD]: reasoning.join("\n") }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: ids.ofCall(call),
        type: "function",
        function: { name: call.name, arguments: argumentsText(call.args) },
      })),
    }),
  }
}

/**
 * Servers that name their reasoning this way (DeepSeek, Moonshot) require it back and reject a conversation without it.
 * Those that call it `reasoning` may reject it.
 */
export const REASONING_FIELD = "reasoning_content"

function goesBack({ origin, opaque }: ReasoningPart, own: string): boolean {
  return origin === own && isJsonObject(opaque) && opaque.field === REASONING_FIELD
}
