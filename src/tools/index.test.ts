import { describe, expect, test } from "vitest"
import type { ToolContext } from "../contract/tool.ts"
import { createDispatcher, fileTools } from "./index.ts"

const dispatcher = createDispatcher(fileTools())
const { signal } = new AbortController()
const context: ToolContext = { signal, idempotencyKey: "", runId: "", callId: "", cwd: "/", env: {}, progress() {} }

describe("fileTools", () => {
  test("are Read, List, Grep and Write, of which only Write has an effect", () => {
    expect(fileTools().map(({ name, effect, concurrent, risk }) => [name, effect, concurrent, risk])).toEqual([
      ["Read", "none", true, "low"],
      ["List", "none", true, "low"],
      ["Grep", "none", true, "low"],
      ["Write", "repeatable", false, "medium"],
    ])
  })

  test.each([
    ["Read", { path: "a" }],
    ["List", {}],
    ["Grep", { pattern: "a" }],
    ["Write", { path: "a", content: "" }],
  ])("%s says so where there is no file system", async (name, args) => {
    const { isError, text } = await dispatcher.callTool(name, args, context)
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toEqual({ error: { code: "denied", message: "This environment has no file system." } })
  })
})
