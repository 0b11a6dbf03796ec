import { describe, expect, test } from "vitest"
import type { FileEntry, Files } from "../../contract/env.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { listTool } from "./list.ts"

const dispatcher = createDispatcher([listTool()])

function contextWith(files: Partial<Files>): ToolContext {
  return { ...createToolContext(), env: { files: files as Files } }
}

async function list(entries: readonly FileEntry[], path?: string): Promise<string> {
  const files: Partial<Files> = {
    display: (asked) => asked,
    list: async (asked) => (asked === (path ?? ".") ? entries : []),
  }
  return (await dispatcher.callTool("List", path === undefined ? {} : { path }, contextWith(files))).text
}

describe("List", () => {
  test("List prints one entry per line, sorted, folders with a slash", async () => {
    const entries: FileEntry[] = [
      { name: "b.txt", kind: "file" },
      { name: "pipe", kind: "other" },
      { name: "Z", kind: "folder" },
      { name: "a", kind: "folder" },
      { name: "l", kind: "link" },
    ]
    expect(await list(entries)).toBe("Z/\na/\nb.txt\nl (link)\npipe (neither file nor folder)")
    expect(await list(entries, "sub")).toContain("b.txt")
  })

  test("List reports an empty folder", async () => {
    expect(await list([])).toBe(". is an empty folder.")
  })

  test("List stops after 1000 entries and reports how many more there are", async () => {
    const entries = Array.from(
      { length: 1003 },
      (_, index): FileEntry => ({ name: `${index}`.padStart(4, "0"), kind: "file" }),
    )
    const lines = (await list(entries)).split("\n")
    expect(lines).toHaveLength(1001)
    expect(lines.at(-1)).toBe("… 3 more")
  })

  test("List prints a name with a line break on one line", async () => {
    expect(await list([{ name: "a\nb\u001b", kind: "file" }])).toBe("a\\x0ab\\x1b")
  })
})
