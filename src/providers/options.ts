import { LonghaulError } from "../contract/error.ts"
import { checkKeys, keys } from "../lib/known-keys.ts"
import type { StreamDeadlines } from "./deadline.ts"

export type { StreamDeadlines }

/** Throws `config_invalid` for options that a provider would ignore. `own`: options of this provider only. */
export function checkProviderOptions(name: string, options: ProviderOptions, own: readonly string[]): void {
  checkKeys(name, options, [...sharedKeys, ...own])
  if (typeof options.model !== "string" || options.model === "") {
    throw new LonghaulError("config_invalid", `${name} has no model.`, { fix: "Pass the model's name as `model`." })
  }
  if (options.deadlines !== undefined) checkKeys(`deadlines of ${name}`, options.deadlines, deadlineKeys)
}

/** Options of every built-in provider. */
export interface ProviderOptions {
  readonly model: string
  readonly apiKey?: string
  /** Address of a compatible server, in the convention of the vendor's SDK. */
  readonly baseUrl?: string
  /** Added to every request; override our own. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default maximum tokens of one answer. */
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly stopSequences?: readonly string[]
  readonly deadlines?: Partial<StreamDeadlines>
  /** Replaces the runtime's transport: rewrites headers, uses proxies. It is asked not to follow redirects. */
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
