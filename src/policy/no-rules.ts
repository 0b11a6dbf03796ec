import type { Rules } from "../contract/policy.ts"
import type { CompiledRules } from "./rules/compile-rules.ts"

/** The rules of a runtime without a policy: no rule matches any call, so the risk tier decides. Loads the rules only to ask. */
export const noRules: Rules = {
  decide: async () => ({ reasons: [] }),
  allowsAtOnce: () => true,
  allowsAlways: () => false,
  scansOutput: () => false,
  scan: () => undefined,
  guard: async () => undefined,
  refusals: async () => undefined,
  tier: () => undefined,
  alwaysScope: async (call) => (await emptyRules()).alwaysScope(call),
  covers: async (scope, call) => (await emptyRules()).covers(scope, call),
}

let empty: Promise<CompiledRules> | undefined

function emptyRules(): Promise<CompiledRules> {
  empty ??= import("./rules/compile-rules.ts").then(({ compileRules }) => compileRules([]))
  return empty
}
