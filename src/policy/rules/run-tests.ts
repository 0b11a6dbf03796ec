import { LonghaulError } from "../../contract/error.ts"
import type { PolicyCall, PolicyTest, Rules, RuleVerdict } from "../../contract/policy.ts"

/** The outcome of one test of a policy file. */
export interface PolicyTestResult {
  readonly name: string
  readonly test: PolicyTest
  /** Undefined: no rule applies and there is no default, so the risk tier decides. */
  readonly verdict: RuleVerdict | undefined
  readonly isPassed: boolean
}

export async function runTests(
  rules: Rules,
  tests: readonly PolicyTest[],
  source: string,
): Promise<readonly PolicyTestResult[]> {
  const results: PolicyTestResult[] = []
  for (const [index, test] of tests.entries()) {
    const { verdict } = await rules.decide(callOf(test.call))
    results.push({ name: `tests[${index}] of ${source}`, test, verdict, isPassed: verdict === test.expect })
  }
  return results
}

/** A complete call from the parts that matter to rules. */
function callOf(call: PolicyTest["call"]): PolicyCall {
  const { workspace = "/workspace", cwd = workspace, backend = "native", args = {} } = call
  const agent = call.agent === undefined ? {} : { agent: call.agent }
  return { tool: call.tool, args, cwd, workspace, backend, ...agent, callId: "test", runId: "test", sandboxed: false }
}

/** Throws `config_invalid` if a test fails. */
export function refuseFailed(results: readonly PolicyTestResult[]): void {
  const failed = results.filter(({ isPassed }) => !isPassed)
  const [first] = failed
  if (first === undefined) return
  const lines = failed.map(({ name, test, verdict }) => `${name} expects ${test.expect}, but ${outcomeOf(verdict)}`)
  throw new LonghaulError("config_invalid", `The policy fails its own tests: ${lines.join("; ")}.`, {
    fix: `See why with: longhaul policy explain '${JSON.stringify(first.test.call)}'`,
  })
}

function outcomeOf(verdict: RuleVerdict | undefined): string {
  return verdict === undefined ? "no rule applies and there is no default" : `the verdict is ${verdict}`
}
