import { describe, expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import { capabilityStub, createDispatcher } from "../index.ts"
import { createToolContext } from "./tool-context.ts"

const context = createToolContext()

describe("capabilityStub", () => {
  const stub = capabilityStub({ name: "Deploy", description: "Brings a version to production." })
  const dispatcher = createDispatcher([stub])

  test("capabilityStub offers a tool to the model", { tags: ["TOOL-18"] }, () => {
    expect(dispatcher.listTools()).toEqual([
      { name: "Deploy", description: "Brings a version to production.", inputSchema: { type: "object" } },
    ])
    expect(stub).toMatchObject({ effect: "none", concurrent: true, risk: "low" })
  })

  test.each([{}, { version: "1.2.3", force: true }])(
    "capabilityStub rejects every call, whatever its arguments: %j",
    { tags: ["TOOL-18"] },
    async (args) => {
      const { isError, text } = await dispatcher.callTool("Deploy", args, context)
      expect(isError).toBe(true)
      expect(JSON.parse(text)).toEqual({
        error: { code: "denied", message: "Deploy is not available in this environment. Nothing was done." },
      })
    },
  )

  test("capabilityStub rejects a tool that could not be offered", () => {
    expect(() => capabilityStub({ name: "a b", description: "x" })).toThrow(LonghaulError)
    expect(() => capabilityStub({ name: "a", description: " " })).toThrow(LonghaulError)
  })
})
