import type { ContentPart, TextPart } from "./content.ts"
import type { Json } from "./json.ts"
import type { ToolStatus } from "./tool.ts"

/** Messages are immutable: providers cache the serialised form by identity. */
export type Message = UserMessage | AssistantMessage | ToolMessage

/** A message as a caller may write it: plain text is one text part. */
export type GivenMessage = Message | { readonly role: "user" | "assistant"; readonly content: string }

export interface UserMessage {
  readonly role: "user"
  readonly content: readonly ContentPart[]
}

export interface AssistantMessage {
  readonly role: "assistant"
  readonly content: readonly (TextPart | ReasoningPart | ToolCallPart)[]
}

/** The results of the previous assistant message, in call order. */
export interface ToolMessage {
  readonly role: "tool"
  readonly content: readonly ToolResultPart[]
}

export interface ReasoningPart {
  readonly type: "reasoning"
  readonly text: string
  /** Data that only its origin can read (a signature, encrypted content). Sent back unchanged, to that origin only. */
  readonly opaque?: Json
  /** `provider:model` that wrote it. */
  readonly origin: string
}

export interface ToolCallPart {
  readonly type: "tool-call"
  readonly callId: string
  /** The provider's id for it. Not unique within a run (servers repeat ids): only `callId` is. */
  readonly wireId?: string
  readonly name: string
  readonly args: Json
  /** As for reasoning: sent back unchanged, to its origin only. */
  readonly opaque?: Json
  readonly origin?: string
}

export interface ToolResultPart {
  readonly type: "tool-result"
  readonly callId: string
  readonly wireId?: string
  readonly status: ToolStatus
  readonly output: readonly ContentPart[]
}
