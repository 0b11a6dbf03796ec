import type { Shape } from "../../lib/schema/shape.ts"
import type { ProviderOptions } from "../options.ts"

export interface GoogleOptions extends ProviderOptions {
  readonly topK?: number
  /** Requests the same answer to the same request. */
  readonly seed?: number
  /** Thinking budget in tokens; absent: from the run's effort, else the model's default. */
  readonly thinkingTokens?: number
}

export const ownShape: Shape<Omit<GoogleOptions, keyof ProviderOptions>> = {
  topK: "number",
  seed: "number",
  thinkingTokens: "number",
}
