import type { ContentPart } from "../../contract/content.ts"
import { type ErrorCode, type Failure, LonghaulError } from "../../contract/error.ts"
import type { AssistantMessage, Message, ToolResultPart } from "../../contract/message.ts"
import type { StopReason } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import { codeOfStatus } from "../shared/status-code.ts"
import type { PiAssistant, PiContent, PiMessage, PiModel, PiPart, PiUsage } from "./shapes.ts"

const noPiUsage: PiUsage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
}

/** A conversation as Pi takes it. Reasoning goes back only to the model that wrote it. */
export function toPiMessages(messages: readonly Message[], model: PiModel): PiMessage[] {
  const names = new Map<string, string>()
  return messages.flatMap((message): PiMessage[] => {
    if (message.role === "user") return [userMessage(message.content)]
    if (message.role === "tool") return message.content.map((part) => resultMessage(part, names.get(part.callId)))
    for (const part of message.content) if (part.type === "tool-call") names.set(part.callId, part.name)
    return [assistantMessage(message, model)]
  })
}

function resultMessage({ callId, wireId, status, output }: ToolResultPart, toolName = "unknown"): PiMessage {
  const content = toPiContent(output)
  return { role: "toolResult", toolCallId: wireId ?? callId, toolName, content, isError: status !== "ok", timestamp: 0 }
}

export function userMessage(content: readonly ContentPart[]): PiMessage {
  return { role: "user", content: toPiContent(content), timestamp: 0 }
}

export function toPiContent(content: readonly ContentPart[]): readonly PiContent[] {
  return content.map((part) => {
    if (part.type === "text") return part
    if (part.type === "image") return { type: "image", data: part.data, mimeType: part.mediaType }
    return { type: "text", text: `[A file of type ${part.mediaType} that this model cannot read.]` }
  })
}

function assistantMessage({ content }: AssistantMessage, model: PiModel): PiAssistant {
  const { api, provider, id } = model
  const origin = originOf(model)
  const parts = content.flatMap((part): PiPart[] => {
    if (part.type === "text") return [part]
    if (part.type === "tool-call") {
      return [{ type: "toolCall", id: part.wireId ?? part.callId, name: part.name, arguments: part.args }]
    }
    if (part.origin !== origin || typeof part.opaque !== "string") return []
    return [{ type: "thinking", thinking: part.text, thinkingSignature: part.opaque }]
  })
  const stopReason = content.some(({ type }) => type === "tool-call") ? "toolUse" : "stop"
  return { role: "assistant", content: parts, api, provider, model: id, usage: noPiUsage, stopReason, timestamp: 0 }
}

export function originOf({ provider, id }: Pick<PiModel, "provider" | "id">): string {
  return `pi:${provider}:${id}`
}

/** Dollars only if Pi knows the model's price. */
export function toUsage({ input, output, cacheRead, cacheWrite, cost }: PiUsage): Usage {
  const isPriced = cost.total > 0 || input + output + cacheRead + cacheWrite === 0
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    costUsd: isPriced ? cost.total : null,
  }
}

export function toStopReason(stopReason: string): StopReason {
  if (stopReason === "toolUse") return "tool-calls"
  return stopReason === "length" ? "output-limit" : "end"
}

/** Pi reports failures as text; the status of the last response says what kind it is. */
export function toFailure(message: string | undefined, status: number | undefined, retryAfter?: string): Failure {
  const found = status ?? statusIn(message ?? "")
  const seconds = Number(retryAfter)
  const details = Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}
  const code = errorCode(found, message ?? "")
  const fix = fixes[code]
  const text = message === undefined || message === "" ? "The model could not be asked." : message
  return new LonghaulError(code, text, { ...details, ...(fix !== undefined && { fix }) }).toJSON()
}

/** Its messages begin with the status of the response, where there was one. */
function statusIn(message: string): number | undefined {
  const [, status] = /^(?:\D{0,40}\b)?([45]\d\d)\b/.exec(message) ?? []
  return status === undefined ? undefined : Number(status)
}

function errorCode(status: number | undefined, message: string): ErrorCode {
  if (status === undefined) return /api key|credential|unauthorized/i.test(message) ? "auth" : "network"
  return status >= 400 ? codeOfStatus(status) : "stream_incomplete"
}

const fixes: Partial<Record<ErrorCode, string>> = {
  auth: "Set the provider's API key in the environment, or pass resolvePiApiKey.",
  billing: "Check the provider's billing page.",
  model_not_found: "Check the name of the model.",
}
