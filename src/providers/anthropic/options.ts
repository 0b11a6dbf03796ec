import type { Shape } from "../../lib/schema/shape.ts"
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

export const ownShape: Shape<Omit<AnthropicOptions, keyof ProviderOptions>> = {
  authToken: "text",
  topK: "number",
  thinkingTokens: "number",
  promptCache: "boolean",
}
