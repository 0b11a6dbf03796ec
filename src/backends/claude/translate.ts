import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { Usage } from "../../contract/result.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"

/** The meaning of a message of the program. Messages of subagents count only for their calls and results. */
export type ClaudeEvent =
  | { readonly type: "model"; readonly model: string }
  /** The next request to the model is sent. */
  | { readonly type: "request" }
  /** An answer begins. `id`: all its parts have it. */
  | { readonly type: "answer"; readonly id: string; readonly model: string }
  | { readonly type: "part-start"; readonly kind: "text" | "reasoning" }
  | { readonly type: "delta"; readonly kind: "text" | "reasoning"; readonly delta: string }
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly callId: string; readonly name: string; readonly args: Json }
  /** The tokens of the answer so far: each report replaces the one before. */
  | { readonly type: "used"; readonly usage: Usage }
  | { readonly type: "answer-end" }
  | { readonly type: "result"; readonly callId: string; readonly outcome: ToolOutcome }
  /** A message of a person reaches the model. */
  | { readonly type: "delivered"; readonly id: string }
  /** The program has shortened its conversation. */
  | { readonly type: "compacted"; readonly isAsked: boolean; readonly before: number; readonly after: number }
  /** The reason of a failure, in the program's vocabulary. */
  | { readonly type: "api-error"; readonly error: string; readonly requestId?: string }
  | { readonly type: "end"; readonly end: ClaudeEnd }

/** The program's result of the messages so far. */
export interface ClaudeEnd {
  readonly isError: boolean
  readonly text: string
  readonly structured?: Json | undefined
  /** The call that was deferred until the session is resumed. */
  readonly deferred?: string
  readonly stopReason: string
  readonly terminalReason: string
  /** The status of the model's server. */
  readonly status?: number
  readonly apiError: string
  /** The messages of people that it answers. */
  readonly delivered: readonly string[]
  /** Messages that it still has to answer. */
  readonly queued: number
  readonly usage: Usage
}

type CallId = (wireId: string) => string

/** `callId`: the id of a call in the run, from the program's. */
export function translate(message: Json, callId: CallId): readonly ClaudeEvent[] {
  if (!isJsonObject(message)) return []
  const nested = typeof message.parent_tool_use_id === "string"
  switch (message.type) {
    case "stream_event":
      return nested ? [] : ofStream(objectIn(message, "event"))
    case "assistant":
      return ofAssistant(message, nested, callId)
    case "user":
      return blocksIn(objectIn(message, "message")).flatMap((part) => resultIn(part, callId))
    case "system":
      return ofSystem(message)
    case "command_lifecycle":
      return message.state === "started" ? [{ type: "delivered", id: textIn(message, "command_uuid") }] : []
    case "result":
      return [{ type: "end", end: endIn(message, callId) }]
    default:
      return []
  }
}

/** The totals of a session, over all models. */
export function usageOf(models: Json | undefined, costUsd: Json | undefined): Usage {
  const each = isJsonObject(models) ? Object.values(models).filter(isJsonObject) : []
  const sum = (name: string) => each.reduce((total, model) => total + numberIn(model, name), 0)
  return {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    cacheReadTokens: sum("cacheReadInputTokens"),
    cacheWriteTokens: sum("cacheCreationInputTokens"),
    costUsd: typeof costUsd === "number" ? costUsd : null,
  }
}

/** The tokens of one answer. The program computes dollars only for a whole session. */
function answerUsage(usage: JsonObject): Usage {
  return {
    inputTokens: numberIn(usage, "input_tokens"),
    outputTokens: numberIn(usage, "output_tokens"),
    cacheReadTokens: numberIn(usage, "cache_read_input_tokens"),
    cacheWriteTokens: numberIn(usage, "cache_creation_input_tokens"),
    costUsd: null,
  }
}

export function textIn(object: JsonObject, name: string): string {
  const value = object[name]
  return typeof value === "string" ? value : ""
}

export function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object[name]
  return isJsonObject(value) ? value : {}
}

function numberIn(object: JsonObject, name: string): number {
  const value = object[name]
  return typeof value === "number" ? value : 0
}

function blocksIn(message: JsonObject): readonly JsonObject[] {
  const { content } = message
  return Array.isArray(content) ? content.filter(isJsonObject) : []
}

function ofSystem(message: JsonObject): readonly ClaudeEvent[] {
  if (message.subtype === "init") return [{ type: "model", model: textIn(message, "model") }]
  if (message.subtype === "compact_boundary") {
    const facts = objectIn(message, "compact_metadata")
    const [before, after] = [numberIn(facts, "pre_tokens"), numberIn(facts, "post_tokens")]
    return [{ type: "compacted", isAsked: facts.trigger === "manual", before, after }]
  }
  return message.subtype === "status" && message.status === "requesting" ? [{ type: "request" }] : []
}

function ofStream(event: JsonObject): readonly ClaudeEvent[] {
  switch (event.type) {
    case "message_start": {
      const message = objectIn(event, "message")
      const answer = { type: "answer", id: textIn(message, "id"), model: textIn(message, "model") } as const
      return [answer, { type: "used", usage: answerUsage(objectIn(message, "usage")) }]
    }
    case "message_delta":
      return [{ type: "used", usage: answerUsage(objectIn(event, "usage")) }]
    case "content_block_start": {
      const kind = objectIn(event, "content_block").type
      if (kind === "text") return [{ type: "part-start", kind: "text" }]
      return kind === "thinking" ? [{ type: "part-start", kind: "reasoning" }] : []
    }
    case "content_block_delta": {
      const delta = objectIn(event, "delta")
      if (delta.type === "text_delta") return [{ type: "delta", kind: "text", delta: textIn(delta, "text") }]
      if (delta.type !== "thinking_delta") return []
      return [{ type: "delta", kind: "reasoning", delta: textIn(delta, "thinking") }]
    }
    case "message_stop":
      return [{ type: "answer-end" }]
    default:
      return []
  }
}

function ofAssistant(message: JsonObject, nested: boolean, callId: CallId): readonly ClaudeEvent[] {
  const answer = objectIn(message, "message")
  // The program's own words about a failure, not the model's.
  if (typeof message.error === "string") {
    const requestId = textIn(message, "request_id")
    return nested ? [] : [{ type: "api-error", error: message.error, ...(requestId !== "" && { requestId }) }]
  }
  const parts = blocksIn(answer).flatMap((part) => partIn(part, callId))
  if (nested) return parts.filter(({ type }) => type === "call")
  return [{ type: "answer", id: textIn(answer, "id"), model: textIn(answer, "model") }, ...parts]
}

function partIn(part: JsonObject, callId: CallId): readonly ClaudeEvent[] {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: textIn(part, "text") }]
    case "thinking":
      return part.thinking === "" ? [] : [{ type: "reasoning", text: textIn(part, "thinking") }]
    case "tool_use":
      return [
        { type: "call", callId: callId(textIn(part, "id")), name: textIn(part, "name"), args: part.input ?? null },
      ]
    default:
      return []
  }
}

function resultIn(part: JsonObject, callId: CallId): readonly ClaudeEvent[] {
  if (part.type !== "tool_result") return []
  const { content } = part
  const output =
    typeof content === "string" ? [{ type: "text" as const, text: content }] : blocksIn(part).flatMap(outputIn)
  const status = part.is_error === true ? "error" : "ok"
  return [{ type: "result", callId: callId(textIn(part, "tool_use_id")), outcome: { status, output } }]
}

function outputIn(part: JsonObject): readonly ContentPart[] {
  if (part.type === "text") return [{ type: "text", text: textIn(part, "text") }]
  const source = objectIn(part, "source")
  if (part.type !== "image" || source.type !== "base64") return []
  return [{ type: "image", mediaType: textIn(source, "media_type"), data: textIn(source, "data") }]
}

function endIn(message: JsonObject, callId: CallId): ClaudeEnd {
  const { structured_output: structured, api_error_status: status, user_message_uuids: ids } = message
  const deferred = textIn(objectIn(message, "deferred_tool_use"), "id")
  return {
    isError: message.is_error === true,
    text: textIn(message, "result") || firstError(message),
    structured,
    ...(deferred !== "" && { deferred: callId(deferred) }),
    stopReason: textIn(message, "stop_reason"),
    terminalReason: textIn(message, "terminal_reason"),
    ...(typeof status === "number" && { status }),
    apiError: textIn(message, "api_error"),
    delivered: Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [],
    queued: numberIn(message, "queued_turn_count"),
    usage: usageOf(message.modelUsage, message.total_cost_usd),
  }
}

function firstError({ errors }: JsonObject): string {
  const [first] = Array.isArray(errors) ? errors : []
  return typeof first === "string" ? first : ""
}
