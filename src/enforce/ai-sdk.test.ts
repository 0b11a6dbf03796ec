import { expect, test } from "vitest"
import { brokenPolicy, textPolicy } from "../../test/support/enforce-policy.ts"
import type { ToolPolicy } from "../policy/service/tool-use.ts"
import { enforceTools } from "./ai-sdk.ts"

const enforce = (policy: ToolPolicy = textPolicy()) => ({ policy, sessionId: "s1" })
const call = { toolCallId: "c1", messages: [] }

test("a tool keeps its members, this and the call's options, and receives the rewritten arguments", async () => {
  const policy = textPolicy()
  const echo = {
    description: "Echo",
    prefix: "echo",
    async execute({ text }: { readonly text: string }, options: typeof call) {
      return `${this.prefix} ${text} ${options === call}`
    },
  }
  const { echo: enforced } = enforceTools({ echo }, enforce(policy))
  expect(enforced.description).toBe("Echo")
  expect(await enforced.execute({ text: "change me" }, call)).toBe("echo changed true")
  expect(policy.asked).toMatchObject([{ sessionId: "s1", toolName: "echo", toolUseId: "c1" }])
})

test("a denied call throws BlockedError and does not run; neither does one whose policy is down", async () => {
  let ran = 0
  const tools = { echo: { execute: async (_: object, __: object) => ++ran } }
  await expect(enforceTools(tools, enforce()).echo.execute({ text: "forbidden" }, call)).rejects.toMatchObject({
    name: "BlockedError",
    data: { decision: "deny", reason: "Not allowed." },
  })
  await expect(enforceTools(tools, enforce(brokenPolicy)).echo.execute({}, call)).rejects.toThrow("The policy failed.")
  expect(ran).toBe(0)
})

test("an async generator stays one, and ends at the first value that is blocked", async () => {
  const seen: string[] = []
  let closed = false
  const tools = {
    steps: {
      async *execute(_input: object, _options: object) {
        try {
          yield "one"
          yield "SECRET"
          yield "three"
        } finally {
          closed = true
        }
      },
    },
  }
  const run = async () => {
    for await (const value of enforceTools(tools, enforce()).steps.execute({}, call)) seen.push(value)
  }
  await expect(run()).rejects.toMatchObject({ name: "BlockedError" })
  expect(seen).toEqual(["one"])
  expect(closed).toBe(true)
})

test("what a generator throws is scanned", async () => {
  const tools = {
    steps: {
      // biome-ignore lint/correctness/useYield: it fails before its first value.
      async *execute(_input: object, _options: object): AsyncGenerator<string> {
        throw new Error("SECRET")
      },
    },
  }
  const next = enforceTools(tools, enforce()).steps.execute({}, call).next()
  await expect(next).rejects.toMatchObject({ name: "BlockedError" })
})

test("a plain function that returns an iterable is drained", async () => {
  async function* values() {
    yield "SECRET"
    yield "last"
  }
  const tools = { steps: { execute: (_: object, __: object): unknown => values() } }
  expect(await enforceTools(tools, enforce()).steps.execute({}, call)).toBe("last")
})

test("toModelOutput is scanned, and shows an error text if it is blocked or the policy is down", async () => {
  const echo = { execute: async () => "", toModelOutput: async (_: object): Promise<unknown> => ({ value: "SECRET" }) }
  const shown = { type: "error-text", value: "The output of echo was blocked: Withheld." }
  expect(await enforceTools({ echo }, enforce()).echo.toModelOutput({ input: {}, output: "" })).toEqual(shown)
  const down = enforceTools({ echo }, enforce(brokenPolicy)).echo.toModelOutput({ input: {}, output: "" })
  expect(await down).toMatchObject({ type: "error-text" })
})

test("tools that run elsewhere are rejected with config_invalid, unless that is accepted", () => {
  for (const tool of [{ type: "provider" }, { type: "provider-defined" }, { inputSchema: {} }]) {
    expect(() => enforceTools({ tool }, enforce())).toThrow(expect.objectContaining({ code: "config_invalid" }))
    expect(enforceTools({ tool }, { ...enforce(), unenforced: "allow" }).tool).toBe(tool)
  }
})
