import type { ToolCall } from "../../contract/backend.ts"
import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { AssistantMessage, Message } from "../../contract/message.ts"
import type { Usage } from "../../contract/result.ts"
import type { ToolOutcome, ToolSpec } from "../../contract/tool.ts"
import { attachmentLabel, plainText } from "../../lib/content.ts"
import { textOrEmpty } from "../../lib/json.ts"
import type { CommandItem, FileChangeItem, McpItem } from "./protocol.ts"
import { numberOf, objectOf } from "./protocol.ts"

/** The result of a call that Codex ran itself. */
export function outcomeOf(item: CommandItem | FileChangeItem | McpItem): ToolOutcome {
  if (item.status === "declined") return { status: "denied", output: text("The call was not run: it was declined.") }
  switch (item.type) {
    case "commandExecution":
      return commandOutcome(item.output, item.exitCode)
    case "fileChange": {
      const done = item.changes.map(({ path, kind, movePath }) => `${kind} ${path}${movePath ? ` → ${movePath}` : ""}`)
      const isDone = item.status === "completed"
      return { status: isDone ? "ok" : "error", output: text(isDone ? done.join("\n") : "The patch was not applied.") }
    }
    case "mcpToolCall":
      return mcpOutcome(item.content, item.status !== "completed", item.error)
  }
}

/** The call that ran, as far as the item describes it. */
export function ranCall(item: CommandItem | FileChangeItem | McpItem): Pick<ToolCall, "name" | "args"> {
  switch (item.type) {
    case "commandExecution":
      return { name: "Bash", args: { command: item.command } }
    case "fileChange":
      return { name: "ApplyPatch", args: { paths: item.changes.map(({ path }) => path) } }
    case "mcpToolCall":
      return { name: `mcp:${item.server}/${item.tool}`, args: item.args }
  }
}

export function commandOutcome(output: string, exitCode: number | undefined): ToolOutcome {
  const isOk = exitCode === 0
  const end = isOk ? [] : [exitCode === undefined ? "The command did not end normally." : `Exit code ${exitCode}`]
  return { status: isOk ? "ok" : "error", output: text([output, ...end].filter((part) => part !== "").join("\n")) }
}

export function mcpOutcome(content: readonly Json[], isError: boolean, error?: string): ToolOutcome {
  const parts = content.map((value): ContentPart => {
    const part = objectOf(value)
    if (part.type !== "image") return { type: "text", text: textOrEmpty(part.text) || JSON.stringify(value) }
    return { type: "image", mediaType: textOrEmpty(part.mimeType), data: textOrEmpty(part.data) }
  })
  return { status: isError ? "error" : "ok", output: error === undefined ? parts : [...parts, ...text(error)] }
}

/** Codex's count of tokens, in exclusive buckets. It reports no money. */
export function usageOf(count: Json | undefined): Usage {
  const { inputTokens: input, outputTokens, cachedInputTokens, cacheWriteInputTokens } = objectOf(count)
  const cacheReadTokens = numberOf(cachedInputTokens)
  const cacheWriteTokens = numberOf(cacheWriteInputTokens)
  const inputTokens = Math.max(0, numberOf(input) - cacheReadTokens - cacheWriteTokens)
  return { inputTokens, outputTokens: numberOf(outputTokens), cacheReadTokens, cacheWriteTokens, costUsd: null }
}

/** A message as the input of a turn. Codex takes no documents: the model is informed of them. */
export function userInput(content: readonly ContentPart[]): Json[] {
  return content.map((part) => {
    if (part.type === "image") return { type: "image", url: `data:${part.mediaType};base64,${part.data}` }
    return { type: "text", text: part.type === "text" ? part.text : attachmentLabel(part), text_elements: [] }
  })
}

/** The answer to a call of one of the runtime's tools. */
export function toolReply({ status, output }: ToolOutcome): Json {
  const contentItems = output.map((part) =>
    part.type === "image"
      ? { type: "inputImage", imageUrl: `data:${part.mediaType};base64,${part.data}` }
      : { type: "inputText", text: part.type === "text" ? part.text : attachmentLabel(part) },
  )
  return { contentItems, success: status === "ok" }
}

export function dynamicTools(tools: readonly ToolSpec[]): Json {
  return tools.map(({ name, ...tool }) => ({ type: "function", name: wireName(name), ...tool }))
}

/** Codex keeps names that begin with `mcp__` to itself. */
export function wireName(name: string): string {
  return name.replace(/^mcp__/, "server__")
}

/** The result of a call, for Codex's own record of the conversation. `isCustom`: the call had a text, not arguments. */
export function outputItem(callId: string, output: string, isCustom: boolean): Json {
  return { type: isCustom ? "custom_tool_call_output" : "function_call_output", call_id: callId, output }
}

/** A conversation of the journal, for Codex's own record. Reasoning is left out: only its own model could read it. */
export function historyItems(messages: readonly Message[]): Json[] {
  return messages.flatMap((message): readonly Json[] => {
    if (message.role === "user") {
      return [{ type: "message", role: "user", content: message.content.map(historyContent) }]
    }
    if (message.role === "assistant") return message.content.flatMap(answerItems)
    return message.content.map(({ callId, output }) => outputItem(historyId(callId), plainText(output, "\n"), false))
  })
}

function answerItems(part: AssistantMessage["content"][number]): readonly Json[] {
  if (part.type === "reasoning") return []
  if (part.type === "text") {
    return [{ type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] }]
  }
  // Names of other backends may have characters that the provider does not accept.
  const name = wireName(part.name).replace(/[^\w-]/g, "_")
  return [{ type: "function_call", call_id: historyId(part.callId), name, arguments: JSON.stringify(part.args) }]
}

function historyContent(part: ContentPart): JsonObject {
  if (part.type === "image") return { type: "input_image", image_url: `data:${part.mediaType};base64,${part.data}` }
  return { type: "input_text", text: part.type === "text" ? part.text : attachmentLabel(part) }
}

/** In the form that the provider accepts, and still unique. */
function historyId(callId: string): string {
  return callId.replace(/[^\w-]/g, (char) => `_${char.codePointAt(0)?.toString(16)}_`).slice(-64)
}

function text(value: string): ContentPart[] {
  return [{ type: "text", text: value }]
}
