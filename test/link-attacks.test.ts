import { describe, expect, test } from "vitest"
import type { Policy } from "../src/contract/policy.ts"
import { createAgentTools, createRuntime, nodeFiles } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { fileTools } from "../src/tools/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { countAttacks } from "./support/count-attacks.ts"
import { argsOf, denies, harm, inRoot, lead, named, permits, textsOf, turn } from "./support/link-scene.ts"

countAttacks("links made between the decision and the call")

describe.each([
  ["a path that is denied", denies],
  ["a path that is not permitted", permits],
])("a link that another call of the turn makes to %s", (_, policy) => {
  test.each(named)("a link that another call of the turn makes is not followed by %s", async (_, sample) => {
    const result = await turn(
      [
        ["Prepare", {}],
        [sample.tool, argsOf(sample)],
      ],
      policy,
    )
    expect(result.toolCalls[0]).toMatchObject({ name: "Prepare", status: "ok" })
    expect(harm(textsOf(result).slice(1))).toEqual([])
  })
})

test.each(named)("a link that is made while a person is asked is not followed by %s", async (_, sample) => {
  const onAsk = () => {
    lead("secrets")
    return { decision: "approve" } as const
  }
  const rules = [{ ask: { tool: sample.tool } }, { deny: { path: "secrets/**" } }]
  const result = await turn([[sample.tool, argsOf(sample)]], { default: "allow", rules, onAsk })
  expect(result.toolCalls[0]?.status).toBe("denied")
  expect(harm(textsOf(result))).toEqual([])
})

test("a question that nobody was asked, because the link led elsewhere, refuses the call", async () => {
  let asked = 0
  const onAsk = () => {
    asked++
    lead("secrets")
    return { decision: "approve" } as const
  }
  const rules = [{ ask: { read: "plain/**" } }, { ask: { read: "secrets/**" } }]
  const result = await turn([["Read", { path: "x/key.txt" }]], { default: "allow", rules, onAsk })
  expect(asked).toBe(1)
  expect(result.toolCalls[0]).toMatchObject({ status: "denied", result: expect.stringContaining("call it again") })
})

const careful = defineTool({
  name: "Careful",
  description: "Asks before it opens a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
  risk: "low",
  uses: (args) => ({ read: [(args as { path: string }).path] }),
  async run({ path }: { path: string }, { answered, ask, env, cwd }) {
    if (!answered) await ask?.("Really?", null)
    return new TextDecoder().decode(await env.files?.read(path, cwd))
  },
})

test("an approved call that asks while it runs does not follow a link that is made before its answer", async () => {
  const onAsk = ({ reason }: { readonly reason: string }) => {
    if (reason !== "input") return { decision: "approve" } as const
    lead("secrets")
    return { decision: "answer", text: "yes" } as const
  }
  // The person was asked about one folder, and not about the other.
  const policy: Policy = { rules: [{ ask: { read: "plain/**" } }, { ask: { read: "secrets/**" } }], onAsk }
  lead("plain")
  const result = await turn([["Careful", { path: "x/key.txt" }]], policy, { tools: [careful] })
  expect(result.toolCalls[0]?.status).not.toBe("ok")
  expect(harm(textsOf(result))).toEqual([])
})

test("a link that is made while a running call waits for an answer is not followed", async () => {
  const onAsk = () => {
    lead("secrets")
    return { decision: "answer", text: "yes" } as const
  }
  for (const refusal of [{ deny: { read: "secrets/**" } }, { ask: { read: "secrets/**" } }]) {
    lead("plain")
    const policy: Policy = { default: "allow", rules: [refusal], onAsk }
    const result = await turn([["Careful", { path: "x/key.txt" }]], policy, { tools: [careful] })
    expect(result.toolCalls[0]?.status).toBe("denied")
    expect(harm(textsOf(result))).toEqual([])
  }
})

test("an approval before a pause does not answer a rule that asks about where the path leads now", async () => {
  const rules = [{ ask: { read: "plain/**" } }, { ask: { read: "secrets/**" } }]
  const again = { parts: [{ toolCall: { name: "Read", args: { path: "x/key.txt" } } }] }
  const files = nodeFiles({ roots: [inRoot(".")] })
  const config = { workspace: inRoot("."), store: memoryStore(), env: { files }, tools: fileTools() }
  const policy: Policy = { default: "allow", rules, ask: "pause" }
  await using runtime = createRuntime({ ...config, model: scriptedModel([again, "end"]), policy })
  const { runId, pause } = await runtime.run({ task: "go" })
  lead("secrets")
  const ticket = pause?.pendingToolCall?.ticket ?? ""
  const result = await runtime.resume({ runId, ticket, decision: "approve" })
  expect(result.toolCalls[0]).toMatchObject({ status: "denied", result: expect.stringContaining("call it again") })
  expect(harm(textsOf(result))).toEqual([])
})

test("tools without a runtime are refused a link that is made while a person is asked", async () => {
  const onAsk = () => {
    lead("secrets")
    return { decision: "approve" } as const
  }
  const rules = [{ ask: { tool: "*", path: "plain/**" } }, { ask: { read: "secrets/**" } }]
  await using tools = createAgentTools({ root: inRoot("."), policy: { default: "allow", rules, onAsk } })
  const { isError, text } = await tools.callTool("Read", { path: "x/key.txt" })
  expect(isError).toBe(true)
  expect(text).toContain("leads elsewhere")
})
