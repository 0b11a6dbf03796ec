import { keys } from "../../lib/known-keys.ts"
import type { ProviderOptions } from "../options.ts"

export interface GoogleOptions extends ProviderOptions {
  readonly topK?: number
  /** Asks for the same answer to the same request. */
  readonly seed?: number
  /** How many tokens the model may think before it answers; absent: as the run's effort says, else as it likes. */
  readonly thinkingTokens?: number
}

export const ownKeys = keys<Omit<GoogleOptions, keyof ProviderOptions>>()("topK", "seed", "thinkingTokens")
