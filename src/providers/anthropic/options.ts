import { keys } from "../../lib/known-keys.ts"
import type { ProviderOptions } from "../options.ts"

export interface AnthropicOptions extends ProviderOptions {
  /** Sent as a bearer token instead of a key. */
  readonly authToken?: string
  readonly topK?: number
  /** How many tokens the model may think before it answers; absent: as the run's effort says, else it does not. */
  readonly thinkingTokens?: number
  /** Marks what repeats for the provider's prompt cache. Default true. */
  readonly promptCache?: boolean
}

export const ownKeys = keys<Omit<AnthropicOptions, keyof ProviderOptions>>()(
  "authToken",
  "topK",
  "thinkingTokens",
  "promptCache",
)
