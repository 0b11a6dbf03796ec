import type { Json, JsonObject } from "../../contract/json.ts"
import type { StopReason } from "../../contract/provider.ts"
import type {
  CompleteAnswer,
  CompletePart,
  SimulatedAttachment,
  SimulatedMessage,
  SimulatedSettings,
} from "../simulated.ts"
import { cutIntoDeltas, withAttachments } from "../simulated.ts"
import { refuseAnthropic } from "./anthropic-validation.ts"
import { blocksOf, isList, listAt, objectAt, textAt } from "./json-access.ts"
import type { Exchange, Frame, ParsedRequest, Protocol, Refusal } from "./protocol.ts"

/** Anthropic's Messages API, streaming. */
export const anthropicProtocol: Protocol = {
  name: "anthropic",
  callIdPrefix: "toolu_sim_",
  requestIdHeader: "request-id",
  matches: (path) => path === "/v1/messages",
  parse,
  refuse: refuseAnthropic,
  frames,
  errorFrame: (type, message, exchange) => frame("error", errorBody(type, message, exchange)),
  error: (refusal, exchange) => JSON.stringify(errorBody(typeOf(refusal), messageOf(refusal), exchange)),
}

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
}

const errorMessages: Readonly<Record<number, string>> = {
  404: "Not Found",
  413: "Request exceeds the maximum size",
  429: "This request would exceed your organization's rate limit",
  500: "Internal server error",
  529: "Overloaded",
}

const stopReasons: Readonly<Record<StopReason, string>> = {
  end: "end_turn",
  "tool-calls": "tool_use",
  "output-limit": "max_tokens",
  "context-overflow": "model_context_window_exceeded",
  refusal: "refusal",
  pause: "pause_turn",
}

function parse(_path: string, body: Json): ParsedRequest {
  const messages = listAt(body, "messages")
  const isSystem = (message: Json) => textAt(message, "role") === "system"
  const added = messages.filter(isSystem).flatMap((message) => blocksOf(objectAt(message).content))
  const system = [...blocksOf(objectAt(body).system), ...added]
  const format = objectAt(objectAt(objectAt(body).output_config).format)
  return {
    model: textAt(body, "model"),
    ...(system.length > 0 && { system: joinTexts(system) }),
    messages: messages.filter((message) => !isSystem(message)).map(parseMessage),
    tools: listAt(body, "tools").map((tool) => ({
      name: textAt(tool, "name"),
      description: textAt(tool, "description"),
      inputSchema: objectAt(objectAt(tool).input_schema),
    })),
    ...(format.schema !== undefined && { outputSchema: objectAt(format.schema) }),
    settings: settingsOf(objectAt(body)),
  }
}

function settingsOf(body: JsonObject): SimulatedSettings {
  const { thinking, output_config: config, max_tokens, temperature, top_p, stop_sequences } = body
  const tokens = objectAt(thinking).budget_tokens
  const effort = textAt(config, "effort") || (tokens === undefined ? "" : `${tokens} tokens`)
  return {
    ...(typeof max_tokens === "number" && { maxOutputTokens: max_tokens }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof top_p === "number" && { topP: top_p }),
    ...(isList(stop_sequences) && { stopSequences: stop_sequences.map(String) }),
    ...(effort !== "" && { effort }),
  }
}

function parseMessage(message: Json): SimulatedMessage {
  const blocks = blocksOf(objectAt(message).content)
  const results = blocks.filter((block) => block.type === "tool_result")
  return {
    role: textAt(message, "role") === "assistant" ? "assistant" : results.length > 0 ? "tool" : "user",
    text: joinTexts(blocks),
    attachments: attachmentsIn(blocks),
    signatures: blocks.filter(({ type }) => type === "thinking").map((block) => textAt(block, "signature")),
    toolCalls: blocks
      .filter((block) => block.type === "tool_use")
      .map((block) => ({ id: textAt(block, "id"), name: textAt(block, "name"), args: block.input ?? null })),
    toolResults: results.map((block) => ({
      id: textAt(block, "tool_use_id"),
      text: joinTexts(blocksOf(block.content)),
      isError: block.is_error === true,
      ...withAttachments(attachmentsIn(blocksOf(block.content))),
    })),
  }
}

function attachmentsIn(blocks: readonly JsonObject[]): readonly SimulatedAttachment[] {
  return blocks.filter(({ type }) => type === "image" || type === "document").map(parseAttachment)
}

function parseAttachment(block: JsonObject): SimulatedAttachment {
  const name = textAt(block, "title")
  return {
    mediaType: textAt(block.source, "media_type"),
    data: textAt(block.source, "data"),
    ...(name !== "" && { name }),
  }
}

function joinTexts(blocks: readonly JsonObject[]): string {
  return blocks
    .filter((block) => block.type === "text")
    .map((block) => textAt(block, "text"))
    .join("\n")
}

function frames(answer: CompleteAnswer, exchange: Exchange): readonly Frame[] {
  const { usage } = answer
  const inputUsage = {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
  }
  const ping = frame("ping", {})
  const blocks = answer.parts.flatMap((part, index) => blockFrames(part, index, answer.deltaSize))
  const stopReason = answer.wireStopReason ?? stopReasons[answer.stopReason]
  return [
    frame("message_start", {
      message: {
        id: exchange.messageId,
        type: "message",
        role: "assistant",
        model: exchange.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...inputUsage, output_tokens: 1 },
      },
    }),
    // The real server pings once the first block has started.
    ...blocks.slice(0, 1),
    ping,
    ...blocks.slice(1),
    frame("message_delta", {
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { ...inputUsage, output_tokens: usage.outputTokens },
    }),
    frame("message_stop", {}),
  ]
}

function blockFrames(part: CompletePart, index: number, deltaSize: number): readonly Frame[] {
  const { start, deltas } = blockOf(part, deltaSize)
  return [
    frame("content_block_start", { index, content_block: start }),
    ...deltas.map((delta) => frame("content_block_delta", { index, delta })),
    frame("content_block_stop", { index }),
  ]
}

function blockOf(
  part: CompletePart,
  deltaSize: number,
): { readonly start: JsonObject; readonly deltas: readonly JsonObject[] } {
  if (part.kind === "text") {
    return {
      start: { type: "text", text: "" },
      deltas: cutIntoDeltas(part.text, deltaSize).map((text) => ({ type: "text_delta", text })),
    }
  }
  if (part.kind === "reasoning") {
    const signature = part.signature ?? "c2ltdWxhdGVk"
    return {
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...cutIntoDeltas(part.text, deltaSize).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature },
      ],
    }
  }
  // Like the real server: an empty piece first, and nothing after it without arguments.
  const pieces = ["", ...(part.argsText === "{}" ? [] : cutIntoDeltas(part.argsText, deltaSize))]
  return {
    start: { type: "tool_use", id: part.id, name: part.name, input: {} },
    deltas: pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
  }
}

function frame(type: string, data: JsonObject): Frame {
  return {
    text: `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`,
    bookkeeping: type === "message_start" || type === "ping" || type === "content_block_stop",
  }
}

function errorBody(type: string, message: string, exchange: Exchange): JsonObject {
  return { type: "error", error: { type, message }, request_id: exchange.requestId }
}

function typeOf(refusal: Refusal): string {
  return refusal.type ?? errorTypes[refusal.status] ?? (refusal.status < 500 ? "invalid_request_error" : "api_error")
}

function messageOf(refusal: Refusal): string {
  return refusal.message ?? errorMessages[refusal.status] ?? `Simulated status ${refusal.status}`
}
