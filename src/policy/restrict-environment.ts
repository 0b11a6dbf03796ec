import type { Environment } from "../contract/env.ts"
import type { PolicyCall, Ruled, Rules } from "../contract/policy.ts"
import { shellWith } from "../lib/access/shell-with.ts"
import { isJsonObject } from "../lib/json.ts"
import { admitRedirects } from "./admit-redirects.ts"
import { guardFiles } from "./guard-files.ts"
import type { ResolvePath } from "./rules/find-paths.ts"

/**
 * The environment of a decided call: every file that it opens is checked, a sandbox hides from its commands what rules refuse, and each
 * redirect is decided like the first address.
 * `ruled` undefined: no rule applies to the calls of its tool.
 */
export async function restrictEnvironment(
  env: Environment,
  rules: Rules,
  call: PolicyCall,
  ruled: Ruled | undefined,
  resolvePath?: ResolvePath,
): Promise<Environment> {
  const guard = env.files && (await rules.guard(call, ruled ?? notRuled))
  const refusals = env.shell && (await rules.refusals(call, ruled ?? notRuled))
  const confined = env.shell && refusals ? { ...env, shell: shellWith(env.shell, { refusals }) } : env
  const visible = guard ? guardFiles(confined, guard, resolvePath) : confined
  if (env.fetch === undefined || !isJsonObject(call.args) || typeof call.args.url !== "string") return visible
  const { verdict } = await rules.decide(call)
  return admitRedirects(visible, rules, call, verdict)
}

export const notRuled: Ruled = { verdict: undefined, asked: [] }
