import type { Json, JsonSchema } from "./json.ts"
import type { Message } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { Usage } from "./result.ts"
import type { ToolSpec } from "./tool.ts"

/** One model of one provider. A value created by a factory: `anthropic({ model })`. */
export interface Model {
  readonly provider: string
  readonly id: string
  /** True: the provider itself enforces `outputSchema`. */
  readonly enforcesSchema?: boolean
  /** Default maximum tokens of one answer; absent: unknown. */
  readonly maxOutputTokens?: number
  /** Maximum tokens of a request with its answer; absent: unknown. */
  readonly contextTokens?: number
  /** The values in its requests that must appear nowhere else. The runtime masks them. Absent: unknown. */
  credentials?(): Credentials
  /** Where its requests go. Recorded with a run, which is resumed only with a model at the same place. Absent: unknown. */
  readonly endpoint?: Endpoint
  /** The client of one conversation. System prompt and tools are fixed, so serialised parts stay usable. */
  converse(setup: ConversationSetup): Conversation
}

/** Where the requests of a model go and whose key they carry, without secrets. */
export interface Endpoint {
  /** Without user, password and query. */
  readonly url: string
  /** The variable that the key comes from. Absent: it was given in code, or there is none. */
  readonly keyFrom?: string
}

/** A model in a journal. `endpoint`: null if it was unknown; absent in runs of older versions. */
export interface RecordedModel {
  readonly model?: string
  readonly endpoint?: Endpoint | null
}

/** Secret values by name: the name of a header, for example. */
export type Credentials = Readonly<Record<string, string>>

export interface ConversationSetup extends ModelSettings {
  readonly system?: string
  readonly tools: readonly ToolSpec[]
  /** The schema of final answers; a model that cannot enforce one ignores it. */
  readonly outputSchema?: JsonSchema
  readonly transport: Transport
}

export interface Conversation {
  /** Maximum tokens of one answer, including thinking, if its requests contain a limit. */
  readonly maxOutputTokens?: number
  /**
   * One request and its whole answer. Throws a LonghaulError of the taxonomy for every failure; does not retry.
   * `messages` may be the same growing array each time, of which only the last message may have been replaced; its
   * messages are immutable. If anything else changes, such as an earlier message that was shortened, it is another array.
   */
  call(messages: readonly Message[], sink: AnswerSink, signal: AbortSignal): Promise<Answer>
}

/** Receives the answer while it streams. Called synchronously; must not throw. */
export interface AnswerSink {
  /** The provider has begun to answer, so that the request is paid for even if it fails. `usage`: as far as it is reported. */
  accepted?(usage?: Usage): void
  partStart?(kind: "text" | "reasoning", index: number): void
  /** The new content of a part; content that arrives together may be delivered together. */
  delta?(kind: "text" | "reasoning", index: number, delta: string): void
  /** Output that is of no use before its part is complete, such as a piece of a call's arguments: it is paid for. */
  unfinished?(characters: number): void
  /** A call with complete, parsed arguments. The answer as a whole may still fail. */
  call?(call: AnswerCall, index: number): void
}

export interface AnswerCall {
  readonly type: "tool-call"
  readonly wireId: string
  readonly name: string
  readonly args: Json
  /** Data that only its origin can read, sent back with the call. */
  readonly opaque?: Json
  /** Set if the model's arguments were not JSON: `args` is then null, and the call must not run. */
  readonly invalid?: string
}

export type AnswerPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly opaque?: Json }
  | AnswerCall

/** Complete: the provider marked it as finished. `parts` are in the model's order. */
export interface Answer {
  readonly parts: readonly AnswerPart[]
  readonly stopReason: StopReason
  readonly usage: Usage
  /** As reported by the provider, which may be more exact than the requested name. */
  readonly model: string
  readonly requestId?: string
}

export type StopReason = "end" | "tool-calls" | "output-limit" | "context-overflow" | "refusal" | "pause"

/**
 * One HTTP exchange. `head` comes once, then `chunk`s: synchronously, their bytes valid only during the call. Resolves
 * at a complete end of the body, rejects with `network` on refusal, reset or truncation, and when `signal` aborts.
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
