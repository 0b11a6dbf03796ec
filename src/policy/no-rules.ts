import type { Rules } from "../contract/policy.ts"

/** The rules of a runtime without a policy: no rule matches any call, so the risk tier decides. */
export const noRules: Rules = {
  decide: async () => ({ reasons: [] }),
  allowsAtOnce: () => true,
  allowsAlways: () => false,
  scansOutput: false,
  scan: () => undefined,
  hiddenPaths: [],
  tier: () => undefined,
  alwaysScope: ({ tool }) => ({ tool }),
  covers: (scope, { tool }) => scope.tool === tool && scope.command === undefined,
}
