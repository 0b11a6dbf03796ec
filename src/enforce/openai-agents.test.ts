import { expect, test } from "vitest"
import { brokenPolicy, textPolicy } from "../../test/support/enforce-policy.ts"
import type { ToolPolicy } from "../policy/service/tool-use.ts"
import { enforceTool, enforceTools } from "./openai-agents.ts"

const enforce = (policy: ToolPolicy = textPolicy()) => ({ policy, sessionId: "s1" })
const context = { context: {} }
const details = { toolCall: { callId: "c1" } }

type Invoke = (context: unknown, text: string, details: unknown) => Promise<string>

/** A tool as `tool()` makes it, enforced. */
function enforced(invoke: Invoke, policy: ToolPolicy = textPolicy(), more: object = {}) {
  const ready = { type: "function", name: "echo", invoke, ...more }
  Object.defineProperty(ready, Symbol.for("hidden"), { value: 1 })
  const [tool = ready] = enforceTools([ready], enforce(policy))
  return tool
}

test("options keep the name of their function, context and details, and receive the rewritten arguments", async () => {
  const policy = textPolicy()
  const options = {
    description: "d",
    execute: async function lookUp(...given: unknown[]) {
      return given
    },
  }
  const { name, execute, description } = enforceTool(options, enforce(policy))
  expect([name, description]).toEqual(["lookUp", "d"])
  expect(await execute({ text: "change me" }, context, details)).toEqual([{ text: "changed" }, context, details])
  expect(policy.asked).toMatchObject([{ toolName: "lookUp", toolUseId: "c1" }])
})

test("the model sees the reason of a block, unless the options say otherwise", async () => {
  const options = { name: "echo", execute: async () => "ran" }
  const { execute, errorFunction } = enforceTool(options, enforce())
  const error = await execute({ text: "forbidden" }, context, details).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: "BlockedError" })
  expect(errorFunction(context, error)).toBe("echo was denied: Not allowed.")
  expect(errorFunction(context, new Error("SECRET"))).not.toContain("SECRET")
  expect(enforceTool({ ...options, errorFunction: null }, enforce()).errorFunction).toBeNull()
  expect(enforceTool({ ...options, outputSchema: {} }, enforce()).errorFunction).toBeUndefined()
})

test("a ready tool is copied with its hidden members, and returns the reason of a block", async () => {
  const received: string[] = []
  const invoke: Invoke = async (_context, text) => {
    received.push(text)
    return `echo ${text}`
  }
  const tool = enforced(invoke)
  expect(Reflect.get(tool, Symbol.for("hidden"))).toBe(1)
  expect(await tool.invoke(context, '{ "text": "hello" }', details)).toBe('echo { "text": "hello" }')
  await tool.invoke(context, '{"text":"change me"}', details)
  expect(await tool.invoke(context, '{"text":"forbidden"}', details)).toBe("echo was denied: Not allowed.")
  expect(await tool.invoke(context, '{"text":"SECRET"}', details)).toBe("The output of echo was blocked: Withheld.")
  expect(received).toEqual(['{ "text": "hello" }', '{"text":"changed"}', '{"text":"SECRET"}'])
  expect(await enforced(invoke, brokenPolicy).invoke(context, "{}", details)).toContain("The policy failed.")
  expect(received).toHaveLength(3)
})

test("a tool without parameters takes any text", async () => {
  const policy: ToolPolicy = {
    ...textPolicy(),
    preTool: async () => ({ decision: "allow", args: { input: "other" } }),
  }
  expect(await enforced(async (_, text) => text, policy).invoke(context, "not JSON", details)).toBe("other")
})

test("a ready tool with an output schema throws, since no other output fits", async () => {
  const tool = enforced(async () => "SECRET", textPolicy(), { outputSchema: {} })
  await expect(tool.invoke(context, "{}", details)).rejects.toMatchObject({ name: "BlockedError" })
})

test("hosted, computer and shell tools are rejected with config_invalid, unless that is accepted", () => {
  for (const type of ["hosted_tool", "computer", "shell", "apply_patch"]) {
    const tool = { type, name: "x" }
    expect(() => enforceTools([tool], enforce())).toThrow(expect.objectContaining({ code: "config_invalid" }))
    expect(enforceTools([tool], { ...enforce(), unenforced: "allow" })).toEqual([tool])
  }
})
