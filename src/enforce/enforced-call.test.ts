import { expect, test } from "vitest"
import { textPolicy } from "../../test/support/enforce-policy.ts"
import type { ToolPolicy } from "../policy/service/tool-use.ts"
import { enforceTools } from "./ai-sdk.ts"
import { claudeHooks } from "./claude-agent-sdk.ts"
import { type EnforceOptions, runEnforced } from "./enforced-call.ts"
import { PolicyPlugin } from "./google-adk.ts"
import { enforceTool } from "./openai-agents.ts"

const call = { toolName: "echo", toolUseId: "c1" }
const options = (policy: ToolPolicy = textPolicy()): EnforceOptions => ({ policy, sessionId: "s1" })

test("arguments without a rewrite reach the tool as the same object", async () => {
  const input = { text: "hello", at: new Date(0) }
  const policy = textPolicy()
  let received: unknown
  await runEnforced(options(policy), call, input, (given) => {
    received = given
  })
  expect(received).toBe(input)
  expect(policy.asked[0]?.toolInput).toEqual({ text: "hello", at: "1970-01-01T00:00:00.000Z" })
})

test("a policy that changes the arguments that it received and returns them rewrites the call", async () => {
  const policy: ToolPolicy = {
    ...textPolicy(),
    async preTool({ toolInput }) {
      return { decision: "allow", args: Object.assign(toolInput, { text: "changed" }) }
    },
  }
  const input = { text: "hello" }
  expect(await runEnforced(options(policy), call, input, (given) => given)).toEqual({ text: "changed" })
  expect(input).toEqual({ text: "hello" })
})

test("arguments that change while the policy decides do not run", async () => {
  const input = { text: "hello" }
  const policy: ToolPolicy = {
    ...textPolicy(),
    async preTool() {
      input.text = "forbidden"
      return { decision: "allow" }
    },
  }
  let ran = 0
  await expect(runEnforced(options(policy), call, input, () => ++ran)).rejects.toThrow(
    "changed while the policy decided",
  )
  expect(ran).toBe(0)
})

test.each([
  ["a Map", { deep: [new Map([["text", "forbidden"]])] }],
  ["a Set", { words: new Set(["forbidden"]) }],
  ["a bigint", { count: 1n }],
  ["a function", { run: () => "forbidden" }],
])("arguments with %s, which JSON does not show, do not run", async (_name, input) => {
  let ran = 0
  await expect(runEnforced(options(), call, input, () => ++ran)).rejects.toMatchObject({ code: "policy_denied" })
  expect(ran).toBe(0)
})

test("arguments that are not an object are decided, and rewritten, as a member", async () => {
  const policy = textPolicy()
  await expect(runEnforced(options(policy), call, "forbidden", () => "ran")).rejects.toThrow("echo was denied")
  expect(policy.asked[0]?.toolInput).toEqual({ input: "forbidden" })
  const rewriting: ToolPolicy = { ...policy, preTool: async () => ({ decision: "allow", args: { input: "other" } }) }
  expect(await runEnforced(options(rewriting), call, "text", (given) => given)).toBe("other")
})

test.each([
  ["an escaped character before it", { text: "x\nSECRET" }, /^x\nSECRET$/m],
  ["a Map around it", new Map([["k", "SECRET"]]), /SECRET/],
  ["a bigint beside it", { count: 1n, text: "SECRET" }, /SECRET/],
  ["a key", { "SECRET\t": 1 }, /^SECRET\t$/m],
])("an output is scanned with %s", async (_name, output, text) => {
  const policy = textPolicy()
  await expect(runEnforced(options(policy), call, {}, () => output)).rejects.toMatchObject({ name: "BlockedError" })
  expect(policy.scanned.join()).toMatch(text)
})

test("an output that cannot be written is blocked", async () => {
  const circular: { self?: unknown } = {}
  circular.self = circular
  await expect(runEnforced(options(), call, {}, () => circular)).rejects.toMatchObject({ name: "BlockedError" })
})

test.each([
  ["its message", new Error("SECRET")],
  ["its cause", new Error("fine", { cause: new Error("SECRET") })],
  ["its members", Object.assign(new Error("fine"), { stderr: "SECRET" })],
  ["a value that is no error", { text: "SECRET" }],
])("an exception with a secret in %s is blocked, and reported as a failure", async (_name, thrown) => {
  const policy = textPolicy()
  const run = () => Promise.reject(thrown)
  await expect(runEnforced(options(policy), call, {}, run)).rejects.toMatchObject({ name: "BlockedError" })
  expect(policy.events).toEqual(["PostToolUseFailure"])
})

test("an exception that may be passed on is thrown as it is, even if its event is lost", async () => {
  const thrown = new TypeError("fine")
  const policy: ToolPolicy = { ...textPolicy(), send: () => Promise.reject(new Error("lost")) }
  await expect(runEnforced(options(policy), call, {}, () => Promise.reject(thrown))).rejects.toBe(thrown)
})

test.each([
  ["undefined", undefined],
  ["an unknown word", { decision: "ALLOW" }],
  ["arguments that are not an object", { decision: "allow", args: "x" }],
])("a verdict that is %s blocks the call", async (_name, verdict) => {
  // Safe: the test is about a policy that does not keep its type.
  const wrong = async () => verdict as never
  let ran = 0
  const run = () => ++ran
  await expect(runEnforced(options({ preTool: wrong, postTool: wrong }), call, {}, run)).rejects.toThrow(
    /unknown verdict|policy failed/,
  )
  expect(ran).toBe(0)
})

test("options without a policy or a session, or with a misspelt key, are rejected with config_invalid", () => {
  // Safe: the test is about options that do not keep their types.
  const wrong = [
    { sessionId: "s1" },
    { policy: {} },
    { policy: textPolicy() },
    { ...options(), unenforce: "allow" },
  ] as never[]
  for (const each of wrong) {
    expect(() => enforceTools({}, each)).toThrow(expect.objectContaining({ code: "config_invalid" }))
    expect(() => enforceTool({}, each)).toThrow(expect.objectContaining({ code: "config_invalid" }))
  }
  expect(() => new PolicyPlugin({ policy: textPolicy() })).not.toThrow()
  expect(() => new PolicyPlugin({} as never)).toThrow("policy is missing, not an object.")
  expect(() => claudeHooks({} as never)).toThrow("policy has no function preTool.")
  expect(() => claudeHooks(textPolicy(), { includeStops: false } as never)).toThrow("unknown key")
})
