import { LonghaulError } from "../../contract/error.ts"
import type { Model } from "../../contract/provider.ts"
import { anthropic } from "../../providers/anthropic/index.ts"
import { offlineModel } from "../../testing/offline-model.ts"

type Variables = Readonly<Record<string, string | undefined>>

/** The one table from a model's name to the model. Keys and addresses come from the environment. */
export function namedModel(name: string, variables: Variables = process.env): Model {
  if (name === "offline") return offlineModel()
  const [provider, model] = split(name)
  if (provider === "anthropic" && model) return anthropicFrom(model, variables)
  throw new LonghaulError("config_invalid", `There is no model named ${JSON.stringify(name)}.`, {
    fix: "Use anthropic:<model>, such as anthropic:claude-sonnet-4-6, or offline.",
  })
}

/** What can be used without being told: a provider whose key is in the environment. */
export function defaultModelName(variables: Variables = process.env): string | undefined {
  if (variables.ANTHROPIC_API_KEY || variables.ANTHROPIC_AUTH_TOKEN) return "anthropic:claude-sonnet-4-6"
  return undefined
}

function anthropicFrom(model: string, variables: Variables): Model {
  const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_AUTH_TOKEN: authToken, ANTHROPIC_BASE_URL: baseUrl } = variables
  if (!apiKey && !authToken) {
    throw new LonghaulError("config_invalid", `anthropic:${model} needs a key, and the environment has none.`, {
      fix: "Set ANTHROPIC_API_KEY, or pass anthropic({ model, apiKey }).",
    })
  }
  return anthropic({ model, ...(apiKey && { apiKey }), ...(authToken && { authToken }), ...(baseUrl && { baseUrl }) })
}

function split(name: string): [string, string] {
  const colon = name.indexOf(":")
  return colon === -1 ? [name, ""] : [name.slice(0, colon), name.slice(colon + 1)]
}
