import type { StreamDeadlines } from "../../lib/deadline.ts"

export interface AnthropicOptions {
  readonly model: string
  readonly apiKey?: string
  /** Sent as a bearer token instead of a key. */
  readonly authToken?: string
  /** Any compatible server; without the version, as the vendor's SDK spells it. */
  readonly baseUrl?: string
  /** Added to every request; wins over our own. */
  readonly headers?: Readonly<Record<string, string>>
  /** The most tokens of one answer. Default 8192. */
  readonly maxOutputTokens?: number
  /** How many tokens the model may think before it answers; absent: it does not. */
  readonly thinkingTokens?: number
  /** Marks what repeats for the provider's prompt cache. Default true. */
  readonly promptCache?: boolean
  readonly deadlines?: Partial<StreamDeadlines>
  /** In place of the runtime's transport: rewrites headers, goes through proxies. */
  readonly fetch?: typeof fetch
}
