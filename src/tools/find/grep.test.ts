import { describe, expect, test } from "vitest"
import type { Files } from "../../contract/env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { type ToolContext, ToolError } from "../../contract/tool.ts"
import { compileLinearPattern } from "../../lib/linear-pattern.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { grepTool } from "./grep.ts"
import { eachMatchingLine } from "./grep-lines.ts"

const dispatcher = createDispatcher([grepTool()])

type Tree = { readonly [name: string]: Tree | string | Uint8Array | null }

/** A tree in memory; null stands for a link. */
function filesIn(tree: Tree): Files {
  const find = (path: string): Tree | string | Uint8Array | null => {
    let found: Tree | string | Uint8Array | null = tree
    for (const name of path.split("/").filter((part) => part !== "." && part !== "")) {
      const inside: Tree[string] | undefined = isTree(found) ? found[name] : undefined
      if (inside === undefined) throw new ToolError("not_found", `${path} does not exist.`)
      found = inside
    }
    return found
  }
  const kindOf = (node: Tree[string]) => (node === null ? "link" : isTree(node) ? "folder" : "file")
  return {
    display: (path) => path,
    info: async (path) => ({ kind: kindOf(find(path)), size: 0, modifiedMs: 0, version: "" }),
    list: async (path) => Object.entries(find(path) as Tree).map(([name, node]) => ({ name, kind: kindOf(node) })),
    async read(path, _cwd, range = { offset: 0, limit: Infinity }) {
      const content = find(path)
      if (typeof content !== "string" && !(content instanceof Uint8Array)) throw new ToolError("denied", "no")
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content
      return bytes.subarray(range.offset, range.offset + range.limit)
    },
    write: () => Promise.reject(new ToolError("denied", "read-only")),
    update: () => Promise.reject(new ToolError("denied", "read-only")),
    commit: () => Promise.reject(new ToolError("denied", "read-only")),
  }
}

function isTree(node: Tree[string]): node is Tree {
  return typeof node === "object" && node !== null && !(node instanceof Uint8Array)
}

function contextOf(tree: Tree, signal = new AbortController().signal): ToolContext {
  const env = { files: filesIn(tree) }
  return createToolContext({ signal, env })
}

async function grep(tree: Tree, args: JsonObject, signal?: AbortSignal): Promise<string> {
  return (await dispatcher.callTool("Grep", args, contextOf(tree, signal))).text
}

const project: Tree = {
  "b.ts": "let b = 1\nlet c = 2\n",
  "a.ts": "nothing\r\nlet a = 3\r\n",
  src: { "z.js": "let z", lib: { "y.ts": "LET y\nlet y" }, "x.md": "outlet" },
  link: null,
  ".git": { config: "let git" },
  node_modules: { m: { "index.js": "let m" } },
  ".hidden": "let hidden",
  "image.png": Uint8Array.from([0x6c, 0x65, 0x74, 0]),
}

describe("Grep", () => {
  test("Grep prints path, line and text in path order, and skips the documented files", async () => {
    expect(await grep(project, { pattern: "^let\\b" })).toBe(
      [
        ".hidden:1:let hidden",
        "a.ts:2:let a = 3",
        "b.ts:1:let b = 1",
        "b.ts:2:let c = 2",
        "src/lib/y.ts:2:let y",
        "src/z.js:1:let z",
      ].join("\n"),
    )
  })

  test("Grep searches a folder or one file, and prints paths that Read accepts", async () => {
    expect(await grep(project, { pattern: "let", path: "src/" })).toMatch(/^src\/lib\/y\.ts:2:let y$/m)
    expect(await grep(project, { pattern: "let", path: "./src" })).toMatch(/^\.\/src\/z\.js:1:let z$/m)
    expect(await grep(project, { pattern: "c", path: "b.ts" })).toBe("b.ts:2:let c = 2")
    expect(await grep(project, { pattern: "m$", path: "node_modules" })).toBe("node_modules/m/index.js:1:let m")
  })

  test.each([
    ["*.ts", ["a.ts", "b.ts", "src/lib/y.ts"]],
    ["*.{js,md}", ["src/x.md", "src/z.js"]],
    ["src/*", ["src/x.md", "src/z.js"]],
    ["src/**/*.ts", ["src/lib/y.ts"]],
    ["**/y.ts", ["src/lib/y.ts"]],
    ["/a.ts", ["a.ts"]],
    ["[!a].ts", ["b.ts", "src/lib/y.ts"]],
    ["?.js", ["src/z.js"]],
    ["*.t", []],
  ])("Grep is limited to files like %s", async (glob, paths) => {
    const text = await grep(project, { pattern: "let", glob })
    const found = text === "No matches." ? [] : text.split("\n").map((line) => line.split(":")[0])
    expect([...new Set(found)]).toEqual(paths)
  })

  test("Grep ignores case on request", async () => {
    expect(await grep(project, { pattern: "let Y" })).toBe("No matches.")
    expect(await grep(project, { pattern: "let Y", ignoreCase: true })).toBe(
      "src/lib/y.ts:1:LET y\nsrc/lib/y.ts:2:let y",
    )
  })

  test("Grep stops at the limit and says so only if there is more", async () => {
    const tree = { "a.txt": "x\nx\nx\n" }
    expect(await grep(tree, { pattern: "x", limit: 2 })).toBe(
      "a.txt:1:x\na.txt:2:x\n[stopped after 2 lines; narrow the search or raise limit]",
    )
    expect(await grep(tree, { pattern: "x", limit: 3 })).toBe("a.txt:1:x\na.txt:2:x\na.txt:3:x")
  })

  test("Grep cuts long lines and skips files over 5 MB", async () => {
    const tree = { "big.txt": "x".repeat(5 * 1024 * 1024 + 1), "long.txt": `${"x".repeat(600)}` }
    expect(await grep(tree, { pattern: "x" })).toBe(`long.txt:1:${"x".repeat(500)} [line cut]`)
  })

  test("Grep reports how many files were unreadable and searches the others", async () => {
    const files = filesIn({ "a.txt": "x", "b.txt": "x" })
    const read: Files["read"] = (path, cwd, range) =>
      path === "a.txt" ? Promise.reject(new ToolError("denied", "no")) : files.read(path, cwd, range)
    const context = createToolContext({ env: { files: { ...files, read } } })
    const { text } = await dispatcher.callTool("Grep", { pattern: "x" }, context)
    expect(text).toBe("b.txt:1:x\n[1 files could not be read]")
  })

  test.each([
    ["an invalid pattern", { pattern: "(" }, "The pattern is not valid in RE2 syntax: missing closing ): `(`."],
    ["a backreference", { pattern: "(a)\\1" }, "The pattern uses a backreference, which is not supported."],
    ["lookbehind", { pattern: "(?<=a)b" }, "The pattern uses lookbehind, which is not supported."],
    ["lookahead", { pattern: "a(?!b)" }, "The pattern uses lookahead, which is not supported."],
    ["a quotation without an end", { pattern: "a\\Qb" }, "The pattern has a \\Q without a matching \\E."],
    [
      "a pattern that is too large",
      { pattern: "\\w{0,900}!" },
      "The pattern is too large when its repetitions are expanded (1803 instructions, at most 1000); use smaller " +
        "bounds, * or +.",
    ],
    ["an invalid glob", { pattern: "a", glob: "*.{ts" }, 'The glob has a "{" without a matching "}".'],
  ])("Grep rejects %s as invalid_input", async (_, args, message) => {
    expect(JSON.parse(await grep(project, args))).toEqual({ error: { code: "invalid_input", message } })
  })

  test("Grep reports a missing path as not_found", async () => {
    expect(JSON.parse(await grep(project, { pattern: "a", path: "none" })).error.code).toBe("not_found")
  })

  test.each([
    ["a flag", "(?i)LET Y", "src/lib/y.ts:1:LET y\nsrc/lib/y.ts:2:let y"],
    ["a Unicode class", "\\p{Lu}+ y", "src/lib/y.ts:1:LET y"],
    ["a POSIX class", "^[[:upper:]]", "src/lib/y.ts:1:LET y"],
    ["a large repetition", ".{0,400}outlet", "src/x.md:1:outlet"],
    ["a quotation", "\\Q= 3\\E", "a.ts:2:let a = 3"],
    ["the ends of the text, which is a line", "\\ALET y\\z", "src/lib/y.ts:1:LET y"],
  ])("Grep supports RE2 syntax: %s", async (_, pattern, found) => {
    expect(await grep(project, { pattern })).toBe(found)
  })

  test.each(["(a+)+$", "(a|aa)+$", "(.*)*[xy]"])(
    "a search for %s in a backtracking-hostile text comes to its end",
    async (pattern) => {
      expect(await grep({ "a.txt": hostileText() }, { pattern })).toContain("No matches")
    },
  )

  test("the event loop stays responsive while a slow pattern is searched", async () => {
    let ticks = 0
    const timer = setInterval(() => ticks++, 1)
    await grep({ "a.txt": hostileText() }, { pattern: "(a|b)*a(a|b){100}[cd]" })
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(0)
  })

  test("Grep stops when the run is stopped", async () => {
    const controller = new AbortController()
    const tree = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${index}`, "x\n".repeat(10_000)]))
    const pending = grep(tree, { pattern: "[yz]" }, controller.signal)
    setTimeout(() => controller.abort(), 5)
    expect(JSON.parse(await pending).error.code).toBe("aborted")
  })

  test("a slow search of one text ends when the run is stopped", async () => {
    const pattern = await compileLinearPattern("[ab]*a[ab]{400}[cd]")
    const lines = Array.from({ length: 10 }, (_, line) => hostileLine(4000, line)).join("\n")
    const context = { ...contextOf({}), signal: AbortSignal.abort() }
    const search = { pattern, multiline: false, context, work: 0, busyMs: 0, countedAt: 0 }
    await expect(eachMatchingLine(search, lines, () => true)).rejects.toThrow(ToolError)
  })
})

const hostileText = () => Array.from({ length: 10 }, (_, line) => `${hostileLine(4000, line)}!`).join("\n")

/** Without a short period, which an automaton would soon cache. */
function hostileLine(length: number, seed: number): string {
  let state = seed + 1
  return Array.from({ length }, () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state & 65536 ? "a" : "b"
  }).join("")
}
