import type { Environment } from "../contract/env.ts"
import type { PolicyCall, Rules } from "../contract/policy.ts"
import { isJsonObject } from "../lib/json.ts"
import { admitRedirects } from "./admit-redirects.ts"
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
  if (env.fetch === undefined || !isJsonObject(call.args) || typeof call.args.url !== "string") return visible
  const { verdict } = await rules.decide(call)
  return admitRedirects(visible, rules, call, verdict)
}
