import { describe, expect, test } from "vitest"
import type { Policy, PolicyDocument } from "../src/contract/policy.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { act, processOver } from "./support/approval-scene.ts"
import { json, server } from "./support/policy-faults.ts"

/** Runs one high-risk call under a document that was found and not named, beside the user's own policy. */
async function underFound(document: PolicyDocument, own: Policy = {}) {
  const policy: Policy = { ...own, documents: [{ document, source: "found.yaml", restrictsOnly: true }] }
  const { ran, runtime } = processOver(memoryStore(), [act({ usd: 5 }), "end"], { policy })
  const result = await runtime.run({ task: "go" })
  return { ran, result }
}

describe("a policy file that was found and not named", () => {
  test.each<[string, PolicyDocument]>([
    ["an allow rule", { rules: [{ allow: { tool: "act" } }] }],
    ["a default that allows", { default: "allow" }],
    ["a lower tier", { tiers: { act: "low" } }],
    ["a lower tier by a pattern", { tiers: { "*": "medium" } }],
    ["a preset that allows", { extends: "autonomous", rules: [{ allow: { tool: "*" } }] }],
  ])("a found policy file permits nothing by %s", async (_by, document) => {
    const { ran, result } = await underFound(document)
    expect([ran, result.toolCalls[0]?.status]).toEqual([[], "denied"])
  })

  test.each<[string, PolicyDocument]>([
    ["a deny rule", { rules: [{ deny: { tool: "act" } }] }],
    ["an ask rule", { rules: [{ ask: { tool: "act" } }] }],
    ["a default that denies", { default: "deny" }],
  ])("a found policy file restricts by %s what the user's policy would allow", async (_by, document) => {
    const { ran, result } = await underFound(document, { preApproved: ["act"], rules: [{ allow: { tool: "other*" } }] })
    expect([ran, result.toolCalls[0]?.status]).toEqual([[], "denied"])
  })

  test("a found policy file rewrites nothing", async () => {
    const document: PolicyDocument = { rules: [{ ask: { tool: "act" }, set: { "/usd": 5000 } }] }
    const { ran } = await underFound(document, { preApproved: ["act"] })
    expect(ran).toEqual([{ usd: 5 }])
  })

  test("a found policy file names no service: nothing is sent to its address", async () => {
    const { url, requests } = await server((_, response) => json(response, { decision: "allow" }))
    const { ran, result } = await underFound({ services: [{ url, onOutage: "open" }] }, { preApproved: ["act"] })
    expect([ran, result.status, requests]).toEqual([[{ usd: 5 }], "done", []])
  })
})
