import type { Credentials } from "../../contract/provider.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"
import type { AiSdkModel } from "./model.ts"
import type { AiSdkOptions } from "./options.ts"

/**
 * The keys of an AI SDK model. Its packages keep their settings in `config`, which is not part of the specification: whatever
 * has another form is skipped, and only the environment and `secrets` name the key then.
 */
export function modelCredentials(model: AiSdkModel, { headers = {} }: AiSdkOptions): Credentials {
  const { config } = model as { readonly config?: unknown } // Safe: every use of it is checked.
  const found: Record<string, string> = {}
  const address = settingOf(config, "baseURL") ?? settingOf(config, "url", { path: "/", modelId: model.modelId })
  const own = settingOf(config, "headers")
  if (typeof own === "object" && own !== null) {
    for (const [name, value] of Object.entries(own)) if (typeof value === "string") found[name] = value
  }
  return credentialsOf(typeof address === "string" ? address : "", { ...found, ...headers })
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
