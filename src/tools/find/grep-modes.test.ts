import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { JsonObject } from "../../contract/json.ts"
import { compileLinearPattern } from "../../lib/linear-pattern.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { memoryFiles } from "../memory-files.ts"
import { grepTool } from "./grep.ts"

const dispatcher = createDispatcher([grepTool()])

async function grep(content: Readonly<Record<string, string>>, args: JsonObject): Promise<string> {
  const env = { files: memoryFiles(content) }
  const context = createToolContext({ env })
  return (await dispatcher.callTool("Grep", args, context)).text
}

const numbered = (...words: string[]) => `${words.join("\n")}\n`
const project = {
  "a.ts": numbered("one", "two x", "three", "four x", "five"),
  "b.md": numbered("x", "x", "x"),
  "c.tsx": "none",
}

describe("Grep modes", { tags: ["TOOL-12"] }, () => {
  test("mode files prints paths, mode count prints matching lines per file", async () => {
    expect(await grep(project, { pattern: "x", mode: "files" })).toBe("a.ts\nb.md")
    expect(await grep(project, { pattern: "x", mode: "count" })).toBe("a.ts:2\nb.md:3")
    expect(await grep(project, { pattern: "y", mode: "count" })).toBe("No matches.")
  })

  test("in mode files the limit applies to files", async () => {
    const more = "[stopped after 1 files; narrow the search or raise limit]"
    expect(await grep(project, { pattern: "x", mode: "files", limit: 1 })).toBe(`a.ts\n${more}`)
    expect(await grep(project, { pattern: "x", mode: "count", limit: 1 })).toBe(`a.ts:2\n${more}`)
    expect(await grep(project, { pattern: "x", mode: "files", limit: 2 })).toBe("a.ts\nb.md")
  })

  test("type limits the search to files of a type", async () => {
    expect(await grep(project, { pattern: "x", type: "md", mode: "files" })).toBe("b.md")
    expect(await grep(project, { pattern: "o", type: "ts", glob: "*.tsx", mode: "files" })).toBe("c.tsx")
    expect(JSON.parse(await grep(project, { pattern: "x", type: "cobol" })).error.code).toBe("invalid_input")
  })
})

describe("Grep context lines", { tags: ["TOOL-12"] }, () => {
  test("the options before, after and context print each line once, with a separator between groups", async () => {
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

describe("Grep multiline", { tags: ["TOOL-12"] }, () => {
  const text = { "a.txt": "begin {\r\n  x\r\n}\r\nother\r\nbegin { y }\r\n" }

  test("multiline prints all lines of the shortest match", async () => {
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
  ])("%s prints each line once", async (pattern, counted) => {
    expect(await grep(text, { pattern, multiline: true, mode: "count" })).toBe(counted)
  })

  test("a match that starts where another ended is found", async () => {
    expect(await grep({ "a.txt": "a\nb a\nb\na\nc\nb" }, { pattern: "a\\nb", multiline: true })).toBe(
      "a.txt:1:a\na.txt:2:b a\na.txt:3:b",
    )
  })

  test("a line longer than one search window is printed once, without the next line", async () => {
    const long = `b${"x".repeat(60_000)}aab${"x".repeat(100)}`
    expect(
      await grep({ "a.txt": `a\n${long}\nother\nab\n` }, { pattern: "a[^b]*b", multiline: true, mode: "count" }),
    ).toBe("a.txt:3")
  })

  test("a match of 2,500 characters is found anywhere, also with a large pattern", async () => {
    const before = "x\n".repeat(3000)
    for (const shift of [0, 700, 1400, 2100]) {
      const text = `${before}${"y\n".repeat(shift)}a\n${"z\n".repeat(1200)}b\n`
      const pattern = "a\\n[^b]*b|q{300}[rs]"
      expect(await grep({ "a.txt": text }, { pattern, multiline: true, mode: "count" })).toBe("a.txt:1202")
    }
  })

  test("the lines of all smallest matching ranges are printed, for any text", async () => {
    const piece = fc.constantFrom("a", "b", "ab", "\n", "\n", "x")
    const sources = ["a(?s:.)*b", "a[^b]*b|x", "b\\n+a", "^$", "\\n\\n", "x?", "(?:a\\n?)+x", "$\\na", "\\Aa|b\\z"]
    const property = fc.asyncProperty(
      fc.array(piece, { maxLength: 30 }),
      fc.constantFrom(...sources),
      async (parts, source) => {
        const text = parts.join("")
        const pattern = await compileLinearPattern(source, { multiline: true })
        const ends = [...text.matchAll(/\n|[^\n]$/g)].map(({ index }) => index + 1)
        const starts = [0, ...ends.slice(0, -1)]
        const holds = (first: number, last: number) => {
          const [from, to] = [starts[first] ?? 0, ends[last] ?? 0]
          if (text[to - 1] !== "\n") return pattern.test(text, from, to)
          return pattern.test(text, from, to - 1) || (pattern.test(text, from, to) && !pattern.test(text, to, to))
        }
        const told = new Set<number>()
        for (const first of starts.keys()) {
          const last = [...ends.keys()].find((each) => each >= first && holds(first, each))
          const isSmallest = last !== undefined && (first === last || !holds(first + 1, last))
          for (let line = first; isSmallest && line <= last; line++) told.add(line + 1)
        }
        const found = await grep({ "a.txt": text }, { pattern: source, multiline: true, limit: 1000 })
        const lines = found === "No matches." ? [] : found.split("\n").map((line) => Number(line.split(":")[1]))
        expect(lines).toEqual([...told].toSorted((left, right) => left - right))
      },
    )
    await fc.assert(property, { numRuns: 400 })
  })

  test("a match starts as late as possible, wherever the search began", async () => {
    const filler = "a\n".repeat(3000)
    expect(await grep({ "a.txt": `${filler}a\nx\nb\n` }, { pattern: "a[^b]*b", multiline: true })).toBe(
      "a.txt:3001:a\na.txt:3002:x\na.txt:3003:b",
    )
  })
})

test("a line is searched up to its 5,000th character, which is not its end", async () => {
  const files = { "a.txt": `${"a".repeat(5000)}b\n`, "b.txt": `${"a".repeat(4999)}b\n` }
  expect(await grep(files, { pattern: "a$", mode: "files" })).toBe("No matches.")
  expect(await grep(files, { pattern: "ab", mode: "files" })).toBe("b.txt")
  expect(await grep(files, { pattern: "a\\b", mode: "files" })).toBe("No matches.")
})

test("a file with a NUL character anywhere is skipped", async () => {
  const files = { "a.txt": `x${"y".repeat(20_000)}\0`, "b.txt": "x" }
  expect(await grep(files, { pattern: "x", mode: "files" })).toBe("b.txt")
})
