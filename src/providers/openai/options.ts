import { LonghaulError } from "../../contract/error.ts"
import { type Shape, words } from "../../lib/schema/shape.ts"
import { checkProviderOptions, type ProviderOptions } from "../options.ts"

export interface OpenAiOptions extends ProviderOptions {
  /** The protocol. Default: `responses` at OpenAI itself, elsewhere `chat`, which every compatible server supports. */
  readonly api?: "responses" | "chat"
  readonly organization?: string
  readonly project?: string
  readonly seed?: number
  /** The name of the service, such as `openrouter`. Default `openai`. */
  readonly provider?: string
  /** The variable of the key, named if a key is rejected. Default `OPENAI_API_KEY`. */
  readonly keyName?: string
  /** False: for servers that reject an output schema. Default true. */
  readonly structuredOutput?: boolean
}

/** The options with all defaults resolved. */
export interface OpenAiSetup extends OpenAiOptions {
  readonly api: "responses" | "chat"
  readonly baseUrl: string
  readonly provider: string
  readonly keyName: string
  readonly structuredOutput: boolean
  /** True: OpenAI's own servers, which support more than others. */
  readonly isOpenAi: boolean
}

export function completeOptions(options: OpenAiOptions): OpenAiSetup {
  checkProviderOptions("openai", options, ownShape)
  const baseUrl = (options.baseUrl ?? "https://api.openai.com/v1").replace(/\/+$/, "")
  const isOpenAi = URL.canParse(baseUrl) && /(^|\.)api\.openai\.com$/.test(new URL(baseUrl).hostname)
  const setup: OpenAiSetup = {
    ...options,
    api: options.api ?? (isOpenAi ? "responses" : "chat"),
    baseUrl,
    provider: options.provider ?? "openai",
    keyName: options.keyName ?? "OPENAI_API_KEY",
    structuredOutput: options.structuredOutput ?? true,
    isOpenAi,
  }
  if (setup.api === "responses") refuseChatOnly(setup)
  return setup
}

const ownShape: Shape<Omit<OpenAiOptions, keyof ProviderOptions>> = {
  api: words("responses", "chat"),
  organization: "text",
  project: "text",
  seed: "number",
  provider: "text",
  keyName: "text",
  structuredOutput: "boolean",
}

/** An option that cannot be sent must not be dropped silently. */
function refuseChatOnly({ seed, stopSequences = [] }: OpenAiOptions): void {
  const unknown = seed !== undefined ? "seed" : stopSequences.length > 0 ? "stopSequences" : undefined
  if (unknown === undefined) return
  throw new LonghaulError("config_invalid", `The Responses API does not support ${unknown}.`, {
    fix: `Omit ${unknown}, or pass api: "chat".`,
  })
}
