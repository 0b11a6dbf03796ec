import type { Json } from "../../contract/json.ts"

/** The parts of `@earendil-works/pi-agent-core` and `@earendil-works/pi-ai` that are used, as of 0.87. */
export interface PiModules {
  readonly agent: { readonly Agent: new (options: PiAgentOptions) => PiAgent }
  readonly ai: {
    /** Undefined: the provider has no such model. */
    getModel(provider: string, id: string): PiModel | undefined
    getModels(provider: string): readonly PiModel[]
    /** Sends one request. Failures are in the answer. */
    streamSimple(model: PiModel, context: PiRequest, options: PiRequestOptions): PiStream
    /** True if an answer says that the conversation is too long. */
    isContextOverflow?(message: PiAssistant, contextWindow?: number): boolean
    getEnvApiKey?(provider: string): string | undefined
  }
}

export interface PiModel {
  readonly id: string
  readonly name: string
  readonly api: string
  readonly provider: string
  readonly baseUrl: string
  readonly reasoning: boolean
  readonly input: readonly string[]
  readonly cost: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
  }
  readonly contextWindow: number
  readonly maxTokens: number
}

export interface PiAgentOptions {
  readonly initialState: {
    readonly systemPrompt?: string | undefined
    readonly model: PiModel
    readonly thinkingLevel?: string | undefined
    readonly tools: readonly PiTool[]
    readonly messages: readonly PiMessage[]
  }
  readonly streamFn: PiModules["ai"]["streamSimple"]
  getApiKey(provider: string): Promise<string | undefined>
  onResponse(response: { readonly status: number; readonly headers: Readonly<Record<string, string>> }): void
  /** Returns another context, if it is not to continue with this one. */
  prepareRequest(request: {
    readonly context: PiAgentContext
  }): Promise<{ readonly context: PiAgentContext } | undefined>
  finishTurn(turn: PiTurn): Promise<{ readonly action: "continue" | "end" } | undefined>
  readonly transport?: string | undefined
  readonly sessionId?: string
}

export interface PiAgentContext {
  readonly messages: readonly PiMessage[]
}

export interface PiRequest {
  readonly systemPrompt?: string | undefined
  readonly messages: readonly PiMessage[]
}

export interface PiRequestOptions {
  readonly apiKey?: string | undefined
  readonly maxTokens?: number | undefined
  readonly signal?: AbortSignal
  onResponse?(response: { readonly status: number }): void
}

export interface PiStream {
  result(): Promise<PiAssistant>
}

export interface PiTurn {
  readonly message: PiMessage
}

export interface PiAgent {
  readonly state: { messages: readonly PiMessage[] }
  subscribe(listener: (event: PiEvent) => Promise<void> | void): () => void
  steer(message: PiMessage): void
  abort(): void
  prompt(message: PiMessage): Promise<void>
  continue(): Promise<void>
}

export interface PiTool {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly parameters: unknown
  execute(callId: string, args: unknown): Promise<PiToolResult>
}

export interface PiToolResult {
  readonly content: readonly PiContent[]
  readonly details?: Json
  readonly terminate?: boolean
}

export type PiContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }

export type PiPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly thinkingSignature?: string }
  | { readonly type: "toolCall"; readonly id: string; readonly name: string; readonly arguments: Json }

export interface PiAssistant {
  readonly role: "assistant"
  readonly content: readonly PiPart[]
  readonly api: string
  readonly provider: string
  readonly model: string
  readonly responseModel?: string
  readonly responseId?: string
  readonly usage: PiUsage
  readonly stopReason: string
  readonly errorMessage?: string
  readonly timestamp: number
}

export type PiMessage =
  | PiAssistant
  /** The prompt and the tools: always the first message. */
  | { readonly role: "system" }
  | { readonly role: "user"; readonly content: readonly PiContent[]; readonly timestamp: number }
  | {
      readonly role: "toolResult"
      readonly toolCallId: string
      readonly toolName: string
      readonly content: readonly PiContent[]
      readonly isError: boolean
      readonly timestamp: number
    }

export interface PiUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly totalTokens: number
  readonly cost: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
    readonly total: number
  }
}

export type PiEvent =
  | { readonly type: "message_end"; readonly message: PiMessage }
  | {
      readonly type: "message_update"
      readonly assistantMessageEvent: { readonly type: string; readonly contentIndex?: number; readonly delta?: string }
    }
  | { readonly type: "agent_start" | "agent_end" | "turn_start" | "turn_end" | "message_start" }
  | { readonly type: "tool_execution_start" | "tool_execution_update" }
  | { readonly type: "tool_execution_end"; readonly toolCallId: string; readonly result: PiToolResult }
