import { expect, test } from "vitest"
import { brokenPolicy, textPolicy } from "../../test/support/enforce-policy.ts"
import { enforceTool, PolicyPlugin } from "./google-adk.ts"

const tool = { name: "echo" }
const context = () => ({ functionCallId: "c1", sessionId: "s2", agentName: "root" })

test("options keep the name of their function and the context, and receive the rewritten arguments", async () => {
  const policy = textPolicy()
  const options = {
    description: "d",
    execute: async function lookUp(...given: unknown[]) {
      return given
    },
  }
  const { name, execute } = enforceTool(options, { policy, sessionId: "s1" })
  const given = context()
  expect(name).toBe("lookUp")
  expect(await execute({ text: "change me" }, given)).toEqual([{ text: "changed" }, given])
  await expect(execute({ text: "forbidden" }, given)).rejects.toMatchObject({ name: "BlockedError" })
  expect(policy.asked[0]).toMatchObject({ sessionId: "s1", toolName: "lookUp", toolUseId: "c1", agent: "root" })
})

test("the plugin rewrites the arguments in place, with the framework's session", async () => {
  const policy = textPolicy()
  const toolArgs: Record<string, unknown> = { text: "change me", more: 1 }
  const plugin = new PolicyPlugin({ policy })
  expect(await plugin.beforeToolCallback({ tool, toolArgs, toolContext: context() })).toBeUndefined()
  expect(toolArgs).toEqual({ text: "changed" })
  expect(policy.asked[0]?.sessionId).toBe("s2")
})

test("the plugin returns a refusal and never throws, in every stage and whatever fails", async () => {
  const plugin = new PolicyPlugin({ policy: brokenPolicy })
  const unreadable: Record<string, unknown> = {}
  unreadable.self = unreadable
  for (const toolArgs of [{}, unreadable]) {
    const call = { tool, toolArgs }
    expect(await plugin.beforeToolCallback({ ...call, toolContext: context() })).toHaveProperty("error")
    expect(await plugin.afterToolCallback({ ...call, toolContext: context(), result: {} })).toHaveProperty("error")
    const failure = { ...call, toolContext: context(), error: new Error("SECRET") }
    expect(await plugin.onToolErrorCallback(failure)).toEqual({ error: expect.not.stringContaining("SECRET") })
  }
})

test("an output is scanned once, and not at all if it is our own refusal", async () => {
  const policy = textPolicy()
  const plugin = new PolicyPlugin({ policy })
  const toolContext = context()
  const call = { tool, toolArgs: { text: "forbidden" }, toolContext }
  const refusal = await plugin.beforeToolCallback(call)
  expect(refusal).toEqual({ error: "echo was denied: Not allowed." })
  expect(await plugin.afterToolCallback({ ...call, result: refusal })).toBeUndefined()
  expect(policy.scanned).toEqual([])
  const other = { tool, toolArgs: { text: "hello" }, toolContext: context() }
  await plugin.beforeToolCallback(other)
  expect(await plugin.afterToolCallback({ ...other, result: { text: "SECRET" } })).toEqual({
    error: "The output of echo was blocked: Withheld.",
  })
})

test("an output without a decision, as of an earlier plugin, is scanned", async () => {
  const plugin = new PolicyPlugin({ policy: textPolicy() })
  const call = { tool, toolArgs: {}, toolContext: context(), result: { text: "SECRET" } }
  expect(await plugin.afterToolCallback(call)).toHaveProperty("error")
})

test("arguments that change after the decision: the output is withheld", async () => {
  const plugin = new PolicyPlugin({ policy: textPolicy() })
  const call = { tool, toolArgs: { text: "hello" }, toolContext: context() }
  await plugin.beforeToolCallback(call)
  call.toolArgs.text = "forbidden"
  expect(await plugin.afterToolCallback({ ...call, result: {} })).toEqual({
    error: "The arguments of echo changed after the policy decided.",
  })
})

test("agents as tools and tools of the provider are refused, unless that is accepted", async () => {
  const call = { tool: { name: "helper", agent: {} }, toolArgs: {}, toolContext: context() }
  const request = { llmRequest: { config: { tools: [{ functionDeclarations: [] }, { googleSearch: {} }] } } }
  const strict = new PolicyPlugin({ policy: textPolicy() })
  expect(await strict.beforeToolCallback(call)).toEqual({
    error: expect.stringContaining("cannot stop calls of helper"),
  })
  expect(await strict.beforeModelCallback(request)).toMatchObject({ errorCode: "POLICY_CONFIG_INVALID" })
  const open = new PolicyPlugin({ policy: textPolicy(), unenforced: "allow" })
  expect(await open.beforeToolCallback(call)).toBeUndefined()
  expect(await open.beforeModelCallback(request)).toBeUndefined()
})
