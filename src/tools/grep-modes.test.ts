import { describe, expect, test } from "vitest"
import type { JsonObject } from "../contract/json.ts"
import { createDispatcher } from "./dispatch.ts"
import { grepTool } from "./grep.ts"
import { memoryFiles } from "./memory-files.ts"

const dispatcher = createDispatcher([grepTool()])

async function grep(content: Readonly<Record<string, string>>, args: JsonObject): Promise<string> {
  const { signal } = new AbortController()
  const env = { files: memoryFiles(content) }
  const context = { signal, idempotencyKey: "", runId: "", callId: "", cwd: "/", env, progress() {} }
  return (await dispatcher.callTool("Grep", args, context)).text
}

const numbered = (...words: string[]) => `${words.join("\n")}\n`
const project = {
  "a.ts": numbered("one", "two x", "three", "four x", "five"),
  "b.md": numbered("x", "x", "x"),
  "c.tsx": "none",
}

describe("TOOL-12 modes", () => {
  test("files prints paths, count prints how many lines match", async () => {
    expect(await grep(project, { pattern: "x", mode: "files" })).toBe("a.ts\nb.md")
    expect(await grep(project, { pattern: "x", mode: "count" })).toBe("a.ts:2\nb.md:3")
    expect(await grep(project, { pattern: "y", mode: "count" })).toBe("No matches.")
  })

  test("the limit is about files then", async () => {
    const more = "[stopped after 1 files; narrow the search or raise limit]"
    expect(await grep(project, { pattern: "x", mode: "files", limit: 1 })).toBe(`a.ts\n${more}`)
    expect(await grep(project, { pattern: "x", mode: "count", limit: 1 })).toBe(`a.ts:2\n${more}`)
    expect(await grep(project, { pattern: "x", mode: "files", limit: 2 })).toBe("a.ts\nb.md")
  })

  test("type keeps to files of a kind", async () => {
    expect(await grep(project, { pattern: "x", type: "md", mode: "files" })).toBe("b.md")
    expect(await grep(project, { pattern: "o", type: "ts", glob: "*.tsx", mode: "files" })).toBe("c.tsx")
    expect(JSON.parse(await grep(project, { pattern: "x", type: "cobol" })).error.code).toBe("invalid_input")
  })
})

describe("TOOL-12 lines around", () => {
  test("before, after and context; each line once, and a mark between groups", async () => {
    expect(await grep(project, { pattern: "two|four", before: 1, path: "a.ts" })).toBe(
      "a.ts-1-one\na.ts:2:two x\na.ts-3-three\na.ts:4:four x",
    )
    expect(await grep(project, { pattern: "two|five", after: 1, path: "a.ts" })).toBe(
      "a.ts:2:two x\na.ts-3-three\n--\na.ts:5:five",
    )
    expect(await grep(project, { pattern: "three|^x", context: 1, limit: 2 })).toBe(
      "a.ts-2-two x\na.ts:3:three\na.ts-4-four x\n--\nb.md:1:x\n" +
        "[stopped after 2 lines; narrow the search or raise limit]",
    )
    expect(await grep(project, { pattern: "three", context: 2, before: 0, path: "a.ts" })).toBe(
      "a.ts:3:three\na.ts-4-four x\na.ts-5-five",
    )
  })
})

describe("TOOL-12 multiline", () => {
  const text = { "a.txt": "begin {\r\n  x\r\n}\r\nother\r\nbegin { y }\r\n" }

  test("prints all lines of a match, the shortest that there is", async () => {
    expect(await grep(text, { pattern: "begin \\{(?s:.)*?\\}", multiline: true })).toBe(
      "a.txt:1:begin {\na.txt:2:  x\na.txt:3:}\na.txt:5:begin { y }",
    )
    expect(await grep(text, { pattern: "begin[\\s\\S]*x", multiline: true, mode: "count" })).toBe("a.txt:2")
    expect(await grep(text, { pattern: "x\\n\\}", multiline: true })).toBe("a.txt:2:  x\na.txt:3:}")
    expect(await grep(text, { pattern: "begin[\\s\\S]*other" })).toBe("No matches.")
  })

  test.each([
    ["^", "a.txt:5"],
    ["$", "a.txt:5"],
    ["\\n", "a.txt:5"],
    ["(?s:.)", "a.txt:5"],
    ["^other$", "a.txt:1"],
    ["\\}\\nother\\nb", "a.txt:3"],
    ["\\bx\\b|y", "a.txt:2"],
  ])("%s tells each line once", async (pattern, counted) => {
    expect(await grep(text, { pattern, multiline: true, mode: "count" })).toBe(counted)
  })

  test("a match that begins where another ended is found", async () => {
    expect(await grep({ "a.txt": "a\nb a\nb\na\nc\nb" }, { pattern: "a\\nb", multiline: true })).toBe(
      "a.txt:1:a\na.txt:2:b a\na.txt:3:b",
    )
  })

  test("one begins as late as it can, however far back the search began", async () => {
    const filler = "a\n".repeat(3000)
    expect(await grep({ "a.txt": `${filler}a\nx\nb\n` }, { pattern: "a[^b]*b", multiline: true })).toBe(
      "a.txt:3001:a\na.txt:3002:x\na.txt:3003:b",
    )
  })
})

test("a line is searched up to its 5,000th character, and that is not its end", async () => {
  const files = { "a.txt": `${"a".repeat(5000)}b\n`, "b.txt": `${"a".repeat(4999)}b\n` }
  expect(await grep(files, { pattern: "a$", mode: "files" })).toBe("No matches.")
  expect(await grep(files, { pattern: "ab", mode: "files" })).toBe("b.txt")
  expect(await grep(files, { pattern: "a\\b", mode: "files" })).toBe("No matches.")
})

test("a file with a NUL anywhere is left out", async () => {
  const files = { "a.txt": `x${"y".repeat(20_000)}\0`, "b.txt": "x" }
  expect(await grep(files, { pattern: "x", mode: "files" })).toBe("b.txt")
})
