import { keys } from "../../lib/known-keys.ts"
import type { ProviderOptions } from "../options.ts"

export interface AnthropicOptions extends ProviderOptions {
  /** Sent as a bearer token instead of a key. */
  readonly authToken?: string
  readonly topK?: number
  /** Thinking budget in tokens; absent: from the run's effort, else no thinking. */
  readonly thinkingTokens?: number
  /** Marks the repeated prefix for the provider's prompt cache. Default true. */
  readonly promptCache?: boolean
}

export const ownKeys = keys<Omit<AnthropicOptions, keyof ProviderOptions>>()(
  "authToken",
  "topK",
  "thinkingTokens",
  "promptCache",
)
