import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { McpServer, McpServers } from "../../contract/mcp.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { attachmentLabel } from "../../lib/content.ts"
import { isJsonObject, textOrEmpty } from "../../lib/json.ts"
import { type AcpCallFacts, numberOf, objectOf, readCall } from "./protocol.ts"

/** The meaning of an update of a session. */
export type AcpEvent =
  | { readonly type: "text" | "reasoning"; readonly delta: string }
  /** A call is announced, or more is known of it. */
  | { readonly type: "call"; readonly call: AcpCallFacts }
  /** The tokens of the newest request, and the dollars of the whole session so far. */
  | { readonly type: "usage"; readonly tokens?: number; readonly usd?: number }

/** How a prompt ended. */
export interface PromptEnd {
  readonly stopReason: string
  readonly usage: TokenCount
  readonly model: string
}

export interface TokenCount {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}

/** Usage since an earlier count. A count that shrinks is a new one. */
export function usedSince(before: TokenCount, now: TokenCount): TokenCount {
  const isNew = now.inputTokens < before.inputTokens || now.outputTokens < before.outputTokens
  const since = (name: keyof TokenCount) => (isNew ? now[name] : Math.max(0, now[name] - before[name]))
  return {
    inputTokens: since("inputTokens"),
    outputTokens: since("outputTokens"),
    cacheReadTokens: since("cacheReadTokens"),
    cacheWriteTokens: since("cacheWriteTokens"),
  }
}

/** The rest of a count, without tokens that were recorded earlier, when their kind was not yet known: the sum is exact. */
export function without(count: TokenCount, recorded: number): TokenCount {
  let left = recorded
  const rest = (name: keyof TokenCount) => {
    const taken = Math.min(left, count[name])
    left -= taken
    return count[name] - taken
  }
  return {
    inputTokens: rest("inputTokens"),
    cacheReadTokens: rest("cacheReadTokens"),
    cacheWriteTokens: rest("cacheWriteTokens"),
    outputTokens: rest("outputTokens"),
  }
}

export const noTokens: TokenCount = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

export const unknownTokens = {
  ...{ inputTokens: null, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null },
} as const

/** Undefined: nothing that is recorded. */
export function translate(update: Json | undefined): AcpEvent | undefined {
  const { sessionUpdate, content, cost, used } = objectOf(update)
  switch (sessionUpdate) {
    case "agent_message_chunk":
      return { type: "text", delta: textOrEmpty(objectOf(content).text) }
    case "agent_thought_chunk":
      return { type: "reasoning", delta: textOrEmpty(objectOf(content).text) }
    case "tool_call":
    case "tool_call_update":
      return { type: "call", call: readCall(update) }
    case "usage_update": {
      const { amount, currency } = objectOf(cost)
      const isCost = typeof amount === "number" && currency === "USD"
      return { type: "usage", ...(typeof used === "number" && { tokens: used }), ...(isCost && { usd: amount }) }
    }
    default:
      return undefined
  }
}

/** Agents report tokens as `usage`, or as the count of a quota. */
export function readPromptEnd(reply: Json): PromptEnd {
  const { stopReason, usage, _meta } = objectOf(reply)
  const quota = objectOf(objectOf(_meta).quota)
  const [first] = Array.isArray(quota.model_usage) ? quota.model_usage : []
  const given = objectOf(usage)
  const counted = objectOf(quota.token_count)
  const cacheReadTokens = numberOf(given.cachedReadTokens)
  const cacheWriteTokens = numberOf(given.cachedWriteTokens)
  const input = numberOf(given.inputTokens) || numberOf(counted.input_tokens)
  return {
    stopReason: textOrEmpty(stopReason),
    usage: {
      // The protocol counts cached tokens as input; the runtime's buckets exclude each other.
      inputTokens: Math.max(0, input - cacheReadTokens - cacheWriteTokens),
      outputTokens: numberOf(given.outputTokens) || numberOf(counted.output_tokens),
      cacheReadTokens,
      cacheWriteTokens,
    },
    model: isJsonObject(first) ? textOrEmpty(first.model) : "",
  }
}

/** The result of a call that the agent ran itself. Undefined: it has not ended. */
export function outcomeOf({ status, content = [], rawOutput }: AcpCallFacts): ToolOutcome | undefined {
  if (status !== "completed" && status !== "failed") return undefined
  const parts = content.flatMap(partOf)
  const { content: text, output: printed, message, error } = objectOf(rawOutput)
  const [told] = [text, printed, message, error].filter((each) => typeof each === "string" && each !== "")
  const output: ContentPart[] =
    parts.length > 0 ? parts : typeof told === "string" ? [{ type: "text", text: told }] : []
  return { status: status === "completed" ? "ok" : "error", output }
}

/**
 * Texts and images as a prompt. Agents take a text that begins with a sign as a command of their own, and some commands
 * turn all their questions off: a message of a person or a tool must not become one.
 */
export function promptOf(content: readonly ContentPart[], takesImages: boolean): Json[] {
  return content.map((part) => {
    if (part.type === "image" && takesImages) return { type: "image", mimeType: part.mediaType, data: part.data }
    const text = part.type === "text" ? part.text : attachmentLabel(part)
    return { type: "text", text: /^\s*[\p{L}\p{N}"'(<[{*-]/u.test(text) ? text : `Message:\n${text}` }
  })
}

/** MCP servers as the protocol lists them. */
export function serverList(servers: McpServers): Json[] {
  return Object.entries(servers).map(([name, server]) => described(name, server))
}

function described(name: string, server: McpServer): JsonObject {
  if ("command" in server) {
    const { command, args = [], env = {} } = server
    return { name, command, args: [...args], env: pairs(env) }
  }
  const { type = "http", url, headers = {} } = server
  return { type, name, url, headers: pairs(headers) }
}

function pairs(values: Readonly<Record<string, string>>): Json[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }))
}

function partOf(part: JsonObject): readonly ContentPart[] {
  if (part.type === "diff") return [{ type: "text", text: `Changed ${textOrEmpty(part.path)}` }]
  const { type, text, data, mimeType } = objectOf(part.content)
  if (type === "text" && text !== "") return [{ type: "text", text: textOrEmpty(text) }]
  if (type === "image") return [{ type: "image", mediaType: textOrEmpty(mimeType), data: textOrEmpty(data) }]
  return []
}
