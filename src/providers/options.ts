import { LonghaulError } from "../contract/error.ts"
import { texts, textsByName } from "../lib/schema/contract-shapes.ts"
import { checkShape, required, type Shape, shapeOf } from "../lib/schema/shape.ts"
import type { StreamDeadlines } from "./deadline.ts"

export type { StreamDeadlines }

/** Throws `config_invalid` for options that a provider would ignore. `own`: options of this provider only. */
export function checkProviderOptions<Options extends ProviderOptions>(
  name: string,
  options: Options,
  own: Shape<Omit<Options, keyof ProviderOptions>>,
): void {
  checkShape<unknown>(name, options, { ...sharedShape, ...own })
  if (options.model === "") {
    throw new LonghaulError("config_invalid", `${name} has no model.`, { fix: "Pass the model's name as `model`." })
  }
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

export const deadlinesShape: Shape<Partial<StreamDeadlines>> = { firstByteMs: "number", idleMs: "number" }

const sharedShape: Shape<ProviderOptions> = {
  model: required("text"),
  apiKey: "text",
  baseUrl: "text",
  headers: textsByName,
  maxOutputTokens: "number",
  topP: "number",
  stopSequences: texts,
  deadlines: shapeOf<Partial<StreamDeadlines>>(deadlinesShape),
  fetch: "function",
}
