import { describe, expect, test } from "vitest"
import type { ToolContext } from "../contract/tool.ts"
import { createDispatcher, fileTools, readTools } from "./index.ts"

const dispatcher = createDispatcher(fileTools())
const { signal } = new AbortController()
const context: ToolContext = { signal, idempotencyKey: "", runId: "", callId: "", cwd: "/", env: {}, progress() {} }

describe("fileTools", () => {
  test("are four that change nothing and four that do", () => {
    expect(fileTools().map(({ name, effect, concurrent, risk }) => [name, effect, concurrent, risk])).toEqual([
      ["Read", "none", true, "low"],
      ["List", "none", true, "low"],
      ["Glob", "none", true, "low"],
      ["Grep", "none", true, "low"],
      ["Write", "repeatable", false, "medium"],
      ["Edit", "once", false, "medium"],
      ["MultiEdit", "once", false, "medium"],
      ["ApplyPatch", "once", false, "medium"],
    ])
    expect(readTools().map(({ name }) => name)).toEqual(["Read", "List", "Glob", "Grep"])
  })

  test.each([
    ["Read", { path: "a" }],
    ["List", {}],
    ["Glob", { pattern: "a" }],
    ["Grep", { pattern: "a" }],
    ["Write", { path: "a", content: "" }],
    ["Edit", { path: "a", oldText: "a", newText: "b" }],
    ["MultiEdit", { path: "a", edits: [{ oldText: "a", newText: "b" }] }],
    ["ApplyPatch", { patch: "*** Begin Patch\n*** Delete File: a\n*** End Patch" }],
  ])("%s says so where there is no file system", async (name, args) => {
    const { isError, text } = await dispatcher.callTool(name, args, context)
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toEqual({ error: { code: "denied", message: "This environment has no file system." } })
  })
})
