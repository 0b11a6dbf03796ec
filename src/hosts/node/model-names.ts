import { LonghaulError } from "../../contract/error.ts"
import type { Model } from "../../contract/provider.ts"
import { checkArgument } from "../../lib/schema/shape.ts"
import { anthropic } from "../../providers/anthropic/index.ts"
import { google } from "../../providers/google/index.ts"
import { openai } from "../../providers/openai/index.ts"
import { offlineModel } from "../../testing/offline-model.ts"

export type Variables = Readonly<Record<string, string | undefined>>

/** A provider of named models, and the variables of its key and address. */
export interface NamedProvider {
  readonly name: string
  /** Any of them is enough; empty: it needs no key. */
  readonly keyNames: readonly string[]
  readonly baseUrlName?: string
  /** Its default address, for a local server. */
  readonly localUrl?: string
  /** The default model if only the key is known. */
  readonly defaultModel?: string | undefined
  create(
    options: { readonly model: string; readonly apiKey?: string; readonly baseUrl?: string },
    keyName?: string,
  ): Model
}

/** The table of providers. The first one with a key is the default. */
export const namedProviders: readonly NamedProvider[] = [
  {
    name: "anthropic",
    keyNames: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    baseUrlName: "ANTHROPIC_BASE_URL",
    defaultModel: "claude-sonnet-4-6",
    create: ({ apiKey, ...options }, keyName) =>
      anthropic({
        ...options,
        ...(apiKey && { [keyName === "ANTHROPIC_AUTH_TOKEN" ? "authToken" : "apiKey"]: apiKey }),
      }),
  },
  {
    name: "openai",
    keyNames: ["OPENAI_API_KEY"],
    baseUrlName: "OPENAI_BASE_URL",
    defaultModel: "gpt-5.5",
    create: openai,
  },
  {
    name: "google",
    keyNames: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    baseUrlName: "GOOGLE_GEMINI_BASE_URL",
    defaultModel: "gemini-2.5-pro",
    create: google,
  },
  compatible("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "anthropic/claude-sonnet-4.6"),
  compatible("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  compatible("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
  compatible("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
  compatible("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
  local("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL"),
  local("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL"),
  local("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL"),
  local("vllm", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL"),
]

/** A parsed model name: `provider:model`, where the model may contain colons. */
export function parseModelName(name: string): { readonly provider: string; readonly model: string } {
  checkArgument("name", name, "text")
  const colon = name.indexOf(":")
  if (colon > 0 && colon < name.length - 1) return { provider: name.slice(0, colon), model: name.slice(colon + 1) }
  throw new LonghaulError("config_invalid", `${JSON.stringify(name)} is not a valid model name.`, {
    fix: `Use provider:model, such as anthropic:claude-sonnet-4-6, or offline. ${knownProviders()}`,
  })
}

/** Keys and addresses come from the variables. */
export function namedModel(name: string, variables: Variables = process.env): Model {
  if (name === "offline") return offlineModel()
  const { provider, model } = parseModelName(name)
  const known = namedProviders.find((candidate) => candidate.name === provider)
  if (known === undefined) {
    throw new LonghaulError("config_invalid", `Unknown provider ${JSON.stringify(provider)}.`, {
      fix: `${knownProviders()} For any other OpenAI-compatible server, use openai({ model, baseUrl, apiKey }).`,
    })
  }
  const keyName = keyNameOf(known, variables)
  if (keyName === undefined && known.keyNames.length > 0) {
    throw new LonghaulError("config_invalid", `${name} needs an API key, and none is set in the environment.`, {
      fix: `Set ${known.keyNames[0]}, pass it in secrets, or pass ${provider}({ model, apiKey }).`,
    })
  }
  const apiKey = keyName && variables[keyName]
  const baseUrl = known.baseUrlName && variables[known.baseUrlName]
  const created = known.create({ model, ...(apiKey && { apiKey }), ...(baseUrl && { baseUrl }) }, keyName)
  return created.endpoint && keyName ? { ...created, endpoint: { ...created.endpoint, keyFrom: keyName } } : created
}

/** The default model: `LONGHAUL_MODEL`, else that of a provider with a key. */
export function defaultModelName(variables: Variables = process.env): string | undefined {
  if (variables.LONGHAUL_MODEL) return variables.LONGHAUL_MODEL
  const known = namedProviders.find(
    (each) => each.defaultModel !== undefined && keyNameOf(each, variables) !== undefined,
  )
  return known && `${known.name}:${known.defaultModel}`
}

/** For a run without a model: the keys that would select one, and the local servers that need none. */
export function noModelFix(): string {
  const keys = namedProviders.flatMap(({ keyNames, defaultModel }) => (defaultModel === undefined ? [] : keyNames))
  const servers = namedProviders.flatMap(({ name, localUrl }) => (localUrl ? [`${name}:… (${localUrl})`] : []))
  return `Set LONGHAUL_MODEL or one of ${keys.join(", ")}; or pass model, such as "anthropic:claude-sonnet-4-6" or a local server's: ${servers.join(", ")}.`
}

/** The variable that contains its key, if any. */
export function keyNameOf({ keyNames }: NamedProvider, variables: Variables): string | undefined {
  return keyNames.find((name) => variables[name] !== undefined && variables[name] !== "")
}

function knownProviders(): string {
  return `Known providers: ${namedProviders.map(({ name }) => name).join(", ")}.`
}

function compatible(name: string, baseUrl: string, keyName: string, defaultModel?: string): NamedProvider {
  return {
    name,
    keyNames: [keyName],
    defaultModel,
    create: (options) => openai({ baseUrl, provider: name, keyName, ...options }),
  }
}

function local(name: string, localUrl: string, baseUrlName: string): NamedProvider {
  return {
    name,
    keyNames: [],
    baseUrlName,
    localUrl,
    create: (options) => openai({ baseUrl: localUrl, provider: name, ...options }),
  }
}
