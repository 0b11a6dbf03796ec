import { expect, test } from "vitest"
import { policyCall } from "../../test/support/policy-scene.ts"
import { refusedNow } from "./rule-decision.ts"
import { compileRules } from "./rules/compile-rules.ts"

test("a call that a rule denies by the time it begins is refused with the reason of that rule", async () => {
  const document = { rules: [{ deny: { tool: "Write" }, reason: "The release is frozen." }] }
  const rules = await compileRules([{ document, source: "test" }])
  const refused = await refusedNow(rules, policyCall("Write"), { verdict: "allow", asked: [] })
  expect(refused).toContain("The release is frozen.")
})
