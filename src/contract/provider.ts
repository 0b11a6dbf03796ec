import type { Json, JsonSchema } from "./json.ts"
import type { Message } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { Usage } from "./result.ts"
import type { ToolSpec } from "./tool.ts"

/** One model behind one provider. A value made by a factory: `anthropic({ model })`. */
export interface Model {
  readonly provider: string
  readonly id: string
  /** True: the provider itself holds answers to `outputSchema`. */
  readonly enforcesSchema?: boolean
  /** The most tokens of one answer, where neither run nor setup says; absent: nobody knows. */
  readonly maxOutputTokens?: number
  /** One conversation's client. System and tools are fixed for it, so what it serialised once stays usable. */
  converse(setup: ConversationSetup): Conversation
}

export interface ConversationSetup extends ModelSettings {
  readonly system?: string
  readonly tools: readonly ToolSpec[]
  /** The form its final answers must have; a model that cannot hold itself to one ignores it. */
  readonly outputSchema?: JsonSchema
  readonly transport: Transport
}

export interface Conversation {
  /** The most tokens of one answer, thinking included, where its requests say so. */
  readonly maxOutputTokens?: number
  /**
   * One request and its whole answer. Throws a LonghaulError of the taxonomy for every failure; retries nothing.
   * `messages` may be the same growing array each time, of which only the last message was ever replaced; its messages are
   * immutable.
   */
  call(messages: readonly Message[], sink: AnswerSink, signal: AbortSignal): Promise<Answer>
}

/** Hears the answer while it streams. Called synchronously; must not throw. */
export interface AnswerSink {
  partStart?(kind: "text" | "reasoning", index: number): void
  /** What came of a part since the last one; what comes together may be told together. */
  delta?(kind: "text" | "reasoning", index: number, delta: string): void
  /** A call whose arguments are complete and parsed. The answer as a whole may still fail. */
  call?(call: AnswerCall, index: number): void
}

export interface AnswerCall {
  readonly type: "tool-call"
  readonly wireId: string
  readonly name: string
  readonly args: Json
  /** What only its origin can read, to be handed back with the call. */
  readonly opaque?: Json
  /** Set where the model's arguments were not JSON: `args` is then null, and the call must not run. */
  readonly invalid?: string
}

export type AnswerPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly opaque?: Json }
  | AnswerCall

/** Complete: the provider said that it had finished. `parts` are in the model's order. */
export interface Answer {
  readonly parts: readonly AnswerPart[]
  readonly stopReason: StopReason
  readonly usage: Usage
  /** As the provider reports it, which may be more exact than what was asked for. */
  readonly model: string
  readonly requestId?: string
}

export type StopReason = "end" | "tool-calls" | "output-limit" | "context-overflow" | "refusal" | "pause"

/**
 * One HTTP exchange. `head` comes once, then `chunk`s: synchronously, their bytes valid only during the call. Resolves at
 * a complete end of the body, rejects with `network` on refusal, reset or truncation, and when `signal` aborts.
 */
export interface Transport {
  stream(request: TransportRequest, sink: TransportSink): Promise<void>
}

export interface TransportRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal?: AbortSignal
}

export interface TransportSink {
  head(status: number, header: (name: string) => string | undefined): void
  chunk(bytes: Uint8Array): void
}
