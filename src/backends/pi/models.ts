import { LonghaulError } from "../../contract/error.ts"
import type { PiModel, PiModules } from "./shapes.ts"

/** How Pi calls the providers that are named differently here. */
const piNames: Readonly<Record<string, string>> = {
  bedrock: "amazon-bedrock",
  "aws-bedrock": "amazon-bedrock",
  gemini: "google",
  glm: "zai",
  copilot: "github-copilot",
  "vercel-gateway": "vercel-ai-gateway",
}

/** Servers that speak the protocol of OpenAI and that Pi has no list of models for. */
const compatible: Readonly<Record<string, string>> = {
  ollama: "http://127.0.0.1:11434/v1",
  llamacpp: "http://127.0.0.1:8080/v1",
  lmstudio: "http://127.0.0.1:1234/v1",
  perplexity: "https://api.perplexity.ai",
}

/** Names that people use and Pi no longer has, with the reason. */
export const unsupportedProviders: Readonly<Record<string, string>> = {
  "gemini-cli": "Pi 0.87 has removed it. Use the backend acp:gemini instead.",
}

/** A model by `provider:model`. A model that Pi does not list is used like the others of its provider. */
export function piModel({ ai }: PiModules, name: string, baseUrl: string | undefined): PiModel {
  const [, given = "", id = ""] = /^([^:/]+)[:/](.+)$/.exec(name) ?? []
  if (id === "") {
    throw new LonghaulError("config_invalid", `${JSON.stringify(name)} is not a model of Pi.`, {
      fix: "Use provider:model, such as openai:gpt-5.5.",
    })
  }
  const reason = unsupportedProviders[given]
  if (reason !== undefined) throw new LonghaulError("config_invalid", `Pi has no provider ${given}.`, { fix: reason })
  const provider = piNames[given] ?? given
  const model = known(ai, provider, id)
  return baseUrl === undefined ? model : { ...model, baseUrl }
}

function known(ai: PiModules["ai"], provider: string, id: string): PiModel {
  const listed = ai.getModel(provider, id)
  if (listed) return listed
  const [like] = ai.getModels(provider)
  if (like) return { ...like, id, name: id }
  const baseUrl = compatible[provider]
  if (baseUrl === undefined) {
    throw new LonghaulError("config_invalid", `Pi has no provider ${JSON.stringify(provider)}.`, {
      fix: "Use one of Pi's providers, such as openai, google, openrouter or ollama.",
    })
  }
  return {
    id,
    name: id,
    api: "openai-completions",
    provider,
    baseUrl,
    reasoning: false,
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 128_000,
    maxTokens: 8192,
  }
}
