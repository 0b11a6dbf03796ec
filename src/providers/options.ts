import { LonghaulError } from "../contract/error.ts"
import { checkKeys, keys } from "../lib/known-keys.ts"
import type { StreamDeadlines } from "./deadline.ts"

export type { StreamDeadlines }

/** Throws `config_invalid` for options that a provider would ignore. `own`: those that only this provider has. */
export function checkProviderOptions(name: string, options: ProviderOptions, own: readonly string[]): void {
  checkKeys(name, options, [...sharedKeys, ...own])
  if (typeof options.model !== "string" || options.model === "") {
    throw new LonghaulError("config_invalid", `${name} has no model.`, { fix: "Pass the model's name as `model`." })
  }
  if (options.deadlines !== undefined) checkKeys(`deadlines of ${name}`, options.deadlines, deadlineKeys)
}

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

const sharedKeys = keys<ProviderOptions>()(
  "model",
  "apiKey",
  "baseUrl",
  "headers",
  "maxOutputTokens",
  "topP",
  "stopSequences",
  "deadlines",
  "fetch",
)
const deadlineKeys = keys<StreamDeadlines>()("firstByteMs", "idleMs")
