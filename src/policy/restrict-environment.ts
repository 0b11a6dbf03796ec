import type { Environment, GuardedFetch } from "../contract/env.ts"
import type { PolicyCall, Rules } from "../contract/policy.ts"
import { ToolError } from "../contract/tool.ts"
import { isJsonObject } from "../lib/json.ts"
import { hidePaths } from "./hide-paths.ts"
import type { ResolvePath } from "./rules/find-paths.ts"

/** The environment of one call: hidden paths are not shown, and each redirect is decided like the first address. */
export async function restrictEnvironment(
  env: Environment,
  rules: Rules,
  call: PolicyCall,
  resolvePath?: ResolvePath,
): Promise<Environment> {
  const hides = rules.hidesPaths ? await rules.hiddenFrom(call) : undefined
  const visible = hides ? hidePaths(env, hides, resolvePath) : env
  return env.fetch ? { ...visible, fetch: decidingRedirects(env.fetch, rules, call) } : visible
}

function decidingRedirects(fetch: GuardedFetch, rules: Rules, call: PolicyCall): GuardedFetch {
  const checkRedirect = async (url: string) => {
    const args = isJsonObject(call.args) ? { ...call.args, url } : { url }
    const { verdict } = await rules.decide({ ...call, args })
    if (verdict === "deny" || verdict === "ask") {
      throw new ToolError("denied", `The policy does not allow the redirect to ${new URL(url).host}.`)
    }
  }
  return {
    get: (url, options) => fetch.get(url, { ...options, checkRedirect }),
    post: (url, body, options) => fetch.post(url, body, options),
  }
}
