import type { Json, JsonObject } from "../contract/json.ts"
import type { StopReason } from "../contract/provider.ts"
import type { Usage } from "../contract/result.ts"

/** A request to a simulated server, in a format common to all protocols. */
export interface SimulatedRequest {
  /** Counts 0, 1, 2 … within one simulator. */
  readonly index: number
  /** `unknown` if no protocol uses the path. */
  readonly protocol: string
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** As sent; null if it was not JSON. */
  readonly body: Json
  readonly model: string
  readonly system?: string
  readonly messages: readonly SimulatedMessage[]
  readonly tools: readonly SimulatedTool[]
  /** The requested output schema. */
  readonly outputSchema?: JsonObject
  readonly settings: SimulatedSettings
  /** Every tool result after the last assistant message. */
  readonly lastToolResults: readonly SimulatedToolResult[]
  /** The last text of a user; empty if there is none. */
  readonly lastUserText: string
}

/** The model settings of the request; absent: not set. */
export interface SimulatedSettings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly stopSequences?: readonly string[]
  /** In the protocol's own terms. */
  readonly effort?: string
}

export interface SimulatedMessage {
  readonly role: "user" | "assistant" | "tool"
  readonly text: string
  readonly attachments: readonly SimulatedAttachment[]
  /** The opaque reasoning data that was sent back. */
  readonly signatures: readonly string[]
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly args: Json }[]
  readonly toolResults: readonly SimulatedToolResult[]
}

/** An image or a document. */
export interface SimulatedAttachment {
  readonly mediaType: string
  /** Base64. */
  readonly data: string
  readonly name?: string
}

export interface SimulatedToolResult {
  readonly id: string
  readonly text: string
  readonly isError: boolean
  /** Absent if there are none. A protocol with text-only results has them in the next message. */
  readonly attachments?: readonly SimulatedAttachment[]
}

export interface SimulatedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

/** A script's answer; a string is an answer with that text. */
export type SimulatedAnswer = string | AnswerInParts

export interface AnswerInParts {
  readonly parts: readonly SimulatedPart[]
  /** Default: `tool-calls` if there is a call, else `end`. */
  readonly stopReason?: StopReason
  /** Sent unchanged instead of `stopReason`: for values outside our vocabulary. Only over a protocol. */
  readonly wireStopReason?: string
  /** Omitted values are estimated at four characters per token. `costUsd` is used by the scripted model only. */
  readonly usage?: Partial<{ readonly [bucket in keyof Usage]: number }>
  /** Characters per delta. Default 12. */
  readonly deltaSize?: number
}

export type SimulatedPart =
  | { readonly text: string }
  | { readonly reasoning: string; readonly signature?: string }
  | { readonly toolCall: SimulatedToolCall }

/** `rawArgs` is sent unchanged: for arguments that are not JSON. */
export type SimulatedToolCall = { readonly name: string; readonly id?: string } & (
  | { readonly args: Json; readonly rawArgs?: never }
  | { readonly rawArgs: string; readonly args?: never }
)

/** An answer with all defaults resolved. */
export interface CompleteAnswer {
  readonly parts: readonly CompletePart[]
  readonly stopReason: StopReason
  readonly wireStopReason?: string | undefined
  readonly usage: { readonly [bucket in Exclude<keyof Usage, "costUsd">]: number } & { readonly costUsd?: number }
  readonly deltaSize: number
}

export type CompletePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string; readonly signature?: string | undefined }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly argsText: string }

/** Deterministic for the same answer and context. Generated ids are not in `usedIds`. */
export function completeAnswer(
  answer: SimulatedAnswer,
  context: { readonly inputCharacters: number; readonly usedIds: ReadonlySet<string>; readonly idPrefix: string },
): CompleteAnswer {
  const given: AnswerInParts = typeof answer === "string" ? { parts: [{ text: answer }] } : answer
  const newId = idMaker(context.idPrefix, context.usedIds)
  const parts = given.parts.map((part) => completePart(part, newId))
  return {
    parts,
    stopReason: given.stopReason ?? (parts.some((part) => part.kind === "call") ? "tool-calls" : "end"),
    wireStopReason: given.wireStopReason,
    usage: {
      inputTokens: tokensIn(context.inputCharacters),
      outputTokens: tokensIn(parts.reduce((sum, part) => sum + charactersOf(part), 0)),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      ...given.usage,
    },
    deltaSize: Math.max(1, given.deltaSize ?? 12),
  }
}

/** As in a tool result. */
export function withAttachments(attachments: readonly SimulatedAttachment[]): Pick<SimulatedToolResult, "attachments"> {
  return attachments.length > 0 ? { attachments } : {}
}

/** Pieces of about `size` characters; surrogate pairs stay whole. */
export function cutIntoDeltas(text: string, size: number): readonly string[] {
  const deltas: string[] = []
  let start = 0
  while (start < text.length) {
    let end = start + size
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++
    deltas.push(text.slice(start, end))
    start = end
  }
  return deltas
}

function completePart(part: SimulatedPart, newId: () => string): CompletePart {
  if ("text" in part) return { kind: "text", text: part.text }
  if ("reasoning" in part) {
    return {
      kind: "reasoning",
      text: part.reasoning,
      signature: part.signature,
    }
  }
  const { id, name, args, rawArgs } = part.toolCall
  return { kind: "call", id: id ?? newId(), name, argsText: rawArgs ?? JSON.stringify(args) }
}

function idMaker(prefix: string, usedIds: ReadonlySet<string>): () => string {
  let count = usedIds.size
  return () => {
    while (usedIds.has(`${prefix}${count}`)) count++
    return `${prefix}${count++}`
  }
}

function charactersOf(part: CompletePart): number {
  return part.kind === "call" ? part.name.length + part.argsText.length : part.text.length
}

function tokensIn(characters: number): number {
  return Math.ceil(characters / 4)
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
