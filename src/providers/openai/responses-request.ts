import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { AssistantMessage, Message, ReasoningPart } from "../../contract/message.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { BodyShape } from "../body-buffer.ts"
import { WireIds } from "../wire-ids.ts"
import { argumentsText, dataUrl, fileName, namedSchema, resultText } from "./content.ts"
import { effortWord, reasons } from "./effort.ts"
import type { OpenAiSetup } from "./options.ts"

/** The body of a Responses request, without server-side state: the whole conversation is sent, at the end. */
export function responsesShape(options: OpenAiSetup, setup: ConversationSetup): BodyShape {
  const { model, topP, structuredOutput } = options
  const { system, tools, temperature, effort, outputSchema } = setup
  const fixed = JSON.stringify({
    model,
    stream: true,
    store: false,
    ...(reasons(model) && {
      include: ["reasoning.encrypted_content"],
      ...(effort !== undefined && { reasoning: { effort: effortWord(model, effort), summary: "auto" } }),
    }),
    max_output_tokens: setup.maxOutputTokens ?? options.maxOutputTokens,
    temperature,
    top_p: topP,
    ...(outputSchema !== undefined &&
      structuredOutput && { text: { format: { type: "json_schema", ...namedSchema(outputSchema) } } }),
    ...(system && { instructions: system }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        name,
        description,
        parameters: inputSchema,
        // If omitted, the server rewrites the schema so that nothing is optional.
        strict: false,
      })),
    }),
  })
  const origin = `${options.provider}:${model}`
  const ids = new WireIds({ longest: 64 })
  return {
    prefix: `${fixed.slice(0, -1)},"input":[`,
    suffix: "]}",
    fragment: (message) =>
      items(message, origin, ids)
        .map((item) => JSON.stringify(item))
        .join(","),
  }
}

/** At least one. */
function items(message: Message, origin: string, ids: WireIds): readonly JsonObject[] {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: message.content.map(contentPart) }]
    case "tool":
      return message.content.map((part) => ({
        type: "function_call_output",
        call_id: ids.ofResult(part.callId),
        output: part.output.some(({ type }) => type !== "text") ? part.output.map(contentPart) : resultText(part),
      }))
    case "assistant": {
      const said = assistantItems(message, origin, ids)
      return said.length > 0 ? said : [spoken("")]
    }
  }
}

function contentPart(part: ContentPart): Json {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text }
    case "image":
      return { type: "input_image", image_url: dataUrl(part) }
    case "file":
      return { type: "input_file", filename: fileName(part), file_data: dataUrl(part) }
  }
}

function assistantItems({ content }: AssistantMessage, origin: string, ids: WireIds): readonly JsonObject[] {
  // The server requires the item that followed a thought, and rejects a thought without one.
  const end = content.findLastIndex((part) => part.type !== "reasoning" && !isEmptyText(part)) + 1
  return content.slice(0, end).flatMap((part) => assistantItem(part, origin, ids))
}

function assistantItem(part: AssistantMessage["content"][number], origin: string, ids: WireIds): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return isEmptyText(part) ? [] : [spoken(part.text)]
    case "reasoning":
      return part.origin === origin ? reasoningItem(part) : []
    case "tool-call":
      return [
        { type: "function_call", call_id: ids.ofCall(part), name: part.name, arguments: argumentsText(part.args) },
      ]
  }
}

function isEmptyText(part: AssistantMessage["content"][number]): boolean {
  return part.type === "text" && part.text === ""
}

function spoken(text: string): JsonObject {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] }
}

/** Only encrypted items can be sent back: the server stores nothing. */
function reasoningItem({ text, opaque }: ReasoningPart): readonly JsonObject[] {
  if (!isJsonObject(opaque) || typeof opaque.encrypted_content !== "string") return []
  const summary = text === "" ? [] : [{ type: "summary_text", text }]
  return [{ type: "reasoning", summary, ...opaque }]
}
