/**
 * The part of the AI SDK's model types that we use, declared here so that none of its packages is needed to build or
 * run us. `model.test-d.ts` checks it against the real types.
 */
export type AiSdkModel = AiSdkModelV3 | AiSdkModelV4

export interface AiSdkModelV3 extends AiSdkIdentity {
  readonly specificationVersion: "v3"
  doStream(call: AiSdkCallV3): PromiseLike<AiSdkStream>
}

export interface AiSdkModelV4 extends AiSdkIdentity {
  readonly specificationVersion: "v4"
  doStream(call: AiSdkCallV4): PromiseLike<AiSdkStream>
}

interface AiSdkIdentity {
  /** Such as `openai.responses`. */
  readonly provider: string
  readonly modelId: string
}

export type AiSdkCallV3 = AiSdkCall<string, AiSdkMediaV3>

export interface AiSdkCallV4 extends AiSdkCall<AiSdkData, AiSdkFile<AiSdkData>> {
  reasoning?: "minimal" | "low" | "medium" | "high" | "max"
}

export interface AiSdkData {
  type: "data"
  data: string
}

/** `Data`: the format of a file's base64. `Media`: the format of images and documents in a tool result. */
export interface AiSdkCall<Data, Media> {
  prompt: AiSdkMessage<Data, Media>[]
  tools?: { type: "function"; name: string; description: string; inputSchema: object }[]
  responseFormat?: { type: "json"; schema: object }
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  seed?: number
  stopSequences?: string[]
  headers?: Record<string, string>
  providerOptions?: ProviderData
  abortSignal?: AbortSignal
}

/** Keyed by provider: opaque data of its package. */
export type ProviderData = Record<string, { [key: string]: AiSdkJson }>
export type AiSdkJson = null | boolean | number | string | AiSdkJson[] | { [key: string]: AiSdkJson }

export type AiSdkMessage<Data, Media> =
  | { role: "system"; content: string }
  | { role: "user"; content: (AiSdkText | AiSdkFile<Data>)[] }
  | { role: "assistant"; content: AiSdkSaid[] }
  | { role: "tool"; content: AiSdkResult<Media>[] }

export interface AiSdkFile<Data> {
  type: "file"
  mediaType: string
  data: Data
  filename?: string
}

export interface AiSdkText {
  type: "text"
  text: string
  providerOptions?: ProviderData
}

export type AiSdkSaid =
  | AiSdkText
  | { type: "reasoning"; text: string; providerOptions?: ProviderData }
  | { type: "tool-call"; toolCallId: string; toolName: string; input: unknown; providerOptions?: ProviderData }

export interface AiSdkResult<Media> {
  type: "tool-result"
  toolCallId: string
  toolName: string
  output: { type: "text" | "error-text"; value: string } | { type: "content"; value: (AiSdkText | Media)[] }
}

/** Older packages distinguish images from other files. */
export interface AiSdkMediaV3 {
  type: "image-data" | "file-data"
  mediaType: string
  data: string
  filename?: string
}

export interface AiSdkStream {
  readonly stream: ReadableStream<AiSdkPart>
  readonly response?: { readonly headers?: Readonly<Record<string, string>> }
}

/** Any part of a stream: its fields depend on its type. */
export interface AiSdkPart {
  readonly type: string
  /** Id of a text or a thought; for `response-metadata`, of the answer. */
  readonly id?: string
  readonly delta?: string
  readonly modelId?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: string
  readonly providerExecuted?: boolean
  readonly providerMetadata?: object
  readonly finishReason?: { readonly unified: string; readonly raw: string | undefined }
  readonly usage?: AiSdkUsage
  readonly error?: unknown
}

export interface AiSdkUsage {
  readonly inputTokens: {
    readonly total: number | undefined
    readonly noCache: number | undefined
    readonly cacheRead: number | undefined
    readonly cacheWrite: number | undefined
  }
  readonly outputTokens: { readonly total: number | undefined }
}
