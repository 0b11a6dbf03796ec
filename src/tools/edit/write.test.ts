import { describe, expect, test } from "vitest"
import type { Files } from "../../contract/env.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { writeTool } from "./write.ts"

const dispatcher = createDispatcher([writeTool()])

function contextWith(files: Partial<Files>): ToolContext {
  return { ...createToolContext(), env: { files: files as Files } }
}

describe("Write", () => {
  test("Write writes UTF-8 and reports whether it created or replaced, and the size", async () => {
    const written = new Map<string, Uint8Array>()
    const context = contextWith({
      display: (path) => path,
      async write(path, _cwd, bytes) {
        const created = !written.has(path)
        written.set(path, bytes)
        return { created }
      },
    })
    const write = (content: string) => dispatcher.callTool("Write", { path: "a.txt", content }, context)
    expect(await write("é")).toEqual({ isError: false, text: "Created a.txt (2 bytes)." })
    expect(await write("")).toEqual({ isError: false, text: "Replaced a.txt (0 bytes)." })
    await write("a\r\nü")
    expect(written.get("a.txt")).toEqual(new TextEncoder().encode("a\r\nü"))
  })
})
