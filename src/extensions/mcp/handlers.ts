import type { ContentPart } from "../../contract/content.ts"
import type { JsonObject, JsonSchema } from "../../contract/json.ts"

/** A server's request for an answer of a model. */
export interface SamplingRequest {
  readonly system?: string | undefined
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: readonly ContentPart[] }[]
  readonly maxOutputTokens: number
}

export interface SamplingAnswer {
  readonly text: string
  /** The name of the model that wrote it. */
  readonly model: string
}

/** A server's question to a person: a form, or an address to open. */
export interface Elicitation {
  readonly message: string
  /** The fields of the form. */
  readonly schema?: JsonSchema
  readonly url?: string
}

/** `content`: the fields of the form. Those that are absent get their default. */
export type ElicitationAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" | "cancel" }

/** How requests of servers are answered. */
export interface RequestHandlers {
  /** Answers the requests of servers that may sample. Default: the run's own model. */
  readonly samplingHandler?: (
    request: SamplingRequest,
    context: { readonly serverName: string; readonly depth: number; readonly runId: string },
  ) => SamplingAnswer | Promise<SamplingAnswer>
  /** Asks a person on behalf of a server. Default: servers cannot ask. */
  readonly elicit?: (
    request: Elicitation,
    context: { readonly serverName: string; readonly runId: string; readonly signal: AbortSignal },
  ) => ElicitationAnswer | Promise<ElicitationAnswer>
}

/** How many requests for an answer of the model may be nested. */
export const DEFAULT_SAMPLING_MAX_DEPTH = 3
