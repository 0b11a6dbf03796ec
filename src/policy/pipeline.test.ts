import { expect, test } from "vitest"
import type { Json } from "../contract/json.ts"
import type { PolicyService, Rules } from "../contract/policy.ts"
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

const policyWith = (rules: Partial<Rules>, services: readonly PolicyService[] = []): ActivePolicy => ({
  mode: "auto",
  rules: { ...noRules, ...rules },
  services,
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
  const decision = await scanOutput(policyWith({ scan: broken }), call, { outcome: "ok", text: "x" }, facts)
  expect(decision.blocked).toMatchObject({ stage: "output", verdict: "block" })
})

const allows: PolicyService = {
  decide: async () => ({ decision: "allow" }),
  scan: async () => ({ decision: "allow" }),
}

test("a service cannot change a call whose secrets it saw as references", async () => {
  const asked: Json[] = []
  const rewrites: PolicyService = {
    ...allows,
    decide: async ({ args }) => {
      asked.push(args)
      return { decision: "allow", args: { to: "{{secret:OTHER}}" } }
    },
  }
  const masked = { ...facts, mask: () => ({ to: "{{secret:TOKEN}}" }) }
  const decision = await decideCall(policyWith({}, [rewrites]), { ...call, args: { to: "s3cr3t" } }, masked)
  expect(asked).toEqual([{ to: "{{secret:TOKEN}}" }])
  expect(decision).toMatchObject({
    verdict: "deny",
    args: { to: "s3cr3t" },
    reason: "A policy service cannot change a call that contains secrets.",
  })
  const unchanged = await decideCall(policyWith({}, [allows]), { ...call, args: { to: "s3cr3t" } }, masked)
  expect(unchanged).toMatchObject({ verdict: "allow", args: { to: "s3cr3t" } })
})

test.each([0, 1, 2])("an output is withheld if service %i of three blocks it", async (blocking) => {
  const blocks: PolicyService = { ...allows, scan: async () => ({ decision: "block", reason: "It has a secret." }) }
  const services = [0, 1, 2].map((index) => (index === blocking ? blocks : allows))
  const decision = await scanOutput(policyWith({}, services), call, { outcome: "ok", text: "x" }, facts)
  expect(decision.blocked).toMatchObject({ stage: "service", verdict: "block", text: "It has a secret." })
})
