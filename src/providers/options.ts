import type { StreamDeadlines } from "../lib/deadline.ts"

export type { StreamDeadlines }

/** What every provider of ours takes. */
export interface ProviderOptions {
  readonly model: string
  readonly apiKey?: string
  /** Any compatible server, spelt as the vendor's own SDK does. */
  readonly baseUrl?: string
  /** Added to every request; wins over our own. */
  readonly headers?: Readonly<Record<string, string>>
  /** The most tokens of one answer, where a run does not say. */
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly stopSequences?: readonly string[]
  readonly deadlines?: Partial<StreamDeadlines>
  /** In place of the runtime's transport: rewrites headers, goes through proxies. It is asked to follow no redirect. */
  readonly fetch?: typeof fetch
}
