import { describe, expect, test } from "vitest"
import {
  askUserTool,
  bashTool,
  createDispatcher,
  duckDuckGo,
  fileTools,
  notebookEditTool,
  readTools,
  sleepTool,
  taskTools,
  toolSearchTool,
  webFetchTool,
  webSearchTool,
} from "./index.ts"
import { createToolContext } from "./kernel/tool-context.ts"

const dispatcher = createDispatcher(fileTools())
const context = createToolContext()

describe("fileTools", () => {
  test("fileTools has four read-only tools and four that write", () => {
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
  ])("%s reports a missing file system", async (name, args) => {
    const { isError, text } = await dispatcher.callTool(name, args, context)
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toEqual({ error: { code: "denied", message: "This environment has no file system." } })
  })
})

describe("the built-in tools", () => {
  const all = [
    ...fileTools(),
    bashTool(),
    webFetchTool(),
    webSearchTool({ engine: duckDuckGo() }),
    sleepTool(),
    notebookEditTool(),
    askUserTool(),
    ...taskTools(),
  ]

  test("exactly the selected tools are listed and callable", { tags: ["TOOL-01"] }, async () => {
    const kernel = ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "WebFetch", "WebSearch"]
    const chosen = createDispatcher(all, { allowed: kernel })
    expect(new Set(chosen.listTools().map(({ name }) => name))).toEqual(new Set(kernel))
    expect((await chosen.callTool("Sleep", { ms: 1 }, context)).text).toContain("not_found")
  })

  test("read-only tools are declared as such and may run in parallel", () => {
    const safe = all.filter(({ effect, concurrent }) => effect === "none" && concurrent).map(({ name }) => name)
    expect(safe).toEqual(expect.arrayContaining(["Read", "List", "Glob", "Grep", "WebFetch", "WebSearch", "Sleep"]))
    for (const name of ["Bash", "Write", "Edit", "MultiEdit", "ApplyPatch", "NotebookEdit"])
      expect(safe).not.toContain(name)
    expect(toolSearchTool(all)).toMatchObject({ effect: "none", concurrent: true })
  })
})
