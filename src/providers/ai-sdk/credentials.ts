import type { Credentials } from "../../contract/provider.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"
import type { AiSdkModel } from "./model.ts"
import type { AiSdkOptions } from "./options.ts"

/**
 * The keys of an AI SDK model. Its packages keep their settings in `config`, which is not part of the specification: whatever
 * has another form is skipped, and only the environment and `secrets` name the key then.
 */
export function modelCredentials(model: AiSdkModel, { headers = {} }: AiSdkOptions): Credentials {
  const found: Record<string, string> = {}
  const own = settingOf(configOf(model), "headers")
  if (typeof own === "object" && own !== null) {
    for (const [name, value] of Object.entries(own)) if (typeof value === "string") found[name] = value
  }
  return credentialsOf(addressOf(model) ?? "", { ...found, ...headers })
}

/** Where the requests of an AI SDK model go; undefined: its package keeps that elsewhere. */
export function addressOf(model: AiSdkModel): string | undefined {
  const config = configOf(model)
  const address = settingOf(config, "baseURL") ?? settingOf(config, "url", { path: "/", modelId: model.modelId })
  return typeof address === "string" && URL.canParse(address) ? address : undefined
}

function configOf(model: AiSdkModel): unknown {
  return (model as { readonly config?: unknown }).config // Safe: every use of it is checked.
}

/** A value, or what a function returns. Never throws: a missing key is reported when the model is called. */
function settingOf(config: unknown, name: string, ...given: unknown[]): unknown {
  try {
    const setting: unknown = (config as Readonly<Record<string, unknown>> | undefined)?.[name] // Safe: a value is checked.
    return typeof setting === "function" ? setting(...given) : setting
  } catch {
    return undefined
  }
}
