import { keys } from "../../lib/known-keys.ts"
import type { StreamDeadlines } from "../deadline.ts"
import type { ProviderData } from "./model.ts"

/** What a run does not say. Keys, addresses and transport are the model's own: they are given to its package. */
export interface AiSdkOptions {
  /** The most tokens of one answer, where a run does not say. */
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly stopSequences?: readonly string[]
  /** Added to every request. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Handed to the package with every call, such as `{ openai: { reasoningEffort: "low" } }`. For models of specification
   * v3, which has no word for it, this is the only way to say how hard to think.
   */
  readonly providerOptions?: ProviderData
  readonly deadlines?: Partial<StreamDeadlines>
}

export const optionKeys = keys<AiSdkOptions>()(
  "maxOutputTokens",
  "topP",
  "topK",
  "seed",
  "stopSequences",
  "headers",
  "providerOptions",
  "deadlines",
)
