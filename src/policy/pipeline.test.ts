import { expect, test } from "vitest"
import type { Json } from "../contract/json.ts"
import type { Rules } from "../contract/policy.ts"
import { noRules } from "./no-rules.ts"
import { type ActivePolicy, decideCall, scanOutput } from "./pipeline.ts"

const call = {
  tool: "act",
  args: {},
  callId: "1",
  cwd: "/",
  workspace: "/",
  runId: "r",
  backend: "native",
  sandboxed: false,
} as const
const facts = { risk: "low", allowed: [], digest: JSON.stringify, mask: (args: Json) => args } as const

const policyWith = (rules: Partial<Rules>): ActivePolicy => ({
  mode: "auto",
  rules: { ...noRules, ...rules },
  services: [],
  preApproved: ["act"],
  askTimeoutMs: 1,
})

const broken = () => {
  throw new Error("a bug")
}

test("rules that fail deny the call", async () => {
  for (const decide of [broken, () => Promise.reject(new Error("a bug"))]) {
    const decision = await decideCall(policyWith({ decide }), call, facts)
    expect(decision).toMatchObject({ verdict: "deny", reason: "The policy failed." })
  }
})

test("output rules that fail block the output", async () => {
  const decision = await scanOutput(policyWith({ scan: broken }), call, { outcome: "ok", text: "x" }, facts.digest)
  expect(decision.blocked).toMatchObject({ stage: "output", verdict: "block" })
})
