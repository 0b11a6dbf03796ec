import { expect, test } from "vitest"
import { laterMillisecond } from "../../../test/support/watchdog.ts"
import type { JsonObject } from "../../contract/json.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { memoryFiles } from "../memory-files.ts"
import { compileGlob } from "./glob.ts"
import { globTool } from "./glob-tool.ts"
import { parseIgnoreFile } from "./ignore-rules.ts"

const dispatcher = createDispatcher([globTool()])

async function glob(args: JsonObject, content: Readonly<Record<string, string>>, later: readonly string[] = []) {
  const files = memoryFiles(content)
  for (const path of later) {
    await laterMillisecond()
    await files.write(path, "/", new TextEncoder().encode("later"))
  }
  const context = createToolContext({ env: { files } })
  return (await dispatcher.callTool("Glob", args, context)).text
}

const project = {
  "a.ts": "",
  "src/b.ts": "",
  "src/deep/c.ts": "",
  "src/deep/d.md": "",
  "node_modules/m/index.ts": "",
  ".git/e.ts": "",
}

test("Glob finds by name at any depth, or by path from the folder", async () => {
  expect(await glob({ pattern: "*.ts" }, project)).toBe("a.ts\nsrc/b.ts\nsrc/deep/c.ts")
  expect(await glob({ pattern: "src/*.{ts,md}" }, project)).toBe("src/b.ts")
  expect(await glob({ pattern: "**/*.md", path: "src" }, project)).toBe("src/deep/d.md")
  expect(await glob({ pattern: "*.none" }, project)).toBe("No files found.")
})

test("Glob lists newest first, and counts omitted paths", async () => {
  expect(await glob({ pattern: "*.ts" }, project, ["src/b.ts", "a.ts"])).toBe("a.ts\nsrc/b.ts\nsrc/deep/c.ts")
  expect(await glob({ pattern: "*.ts", limit: 1 }, project, ["src/deep/c.ts"])).toBe(
    "src/deep/c.ts\n[2 more; narrow the pattern or raise limit]",
  )
})

test("Glob honours ignore files, nearest first, also from a subfolder", async () => {
  const ignoring = { ...project, ".gitignore": "*.ts\n!src/\n", "src/deep/.ignore": "!c.ts" }
  expect(await glob({ pattern: "*" }, ignoring)).toBe(".gitignore\nsrc/deep/.ignore\nsrc/deep/c.ts\nsrc/deep/d.md")
  expect(await glob({ pattern: "*.ts", path: "src" }, ignoring)).toBe("src/deep/c.ts")
})

test("Glob reports an invalid pattern to the model", async () => {
  expect(await glob({ pattern: "{a" }, project)).toContain("invalid_input")
})

test.each([
  ["a name at any depth", "a?.ts", ["ab.ts", "x/y/aé.ts", "a😀.ts"], ["a.ts", "abc.ts", "ab.tsx"]],
  ["a path from the folder", "./src/*.ts", ["src/a.ts"], ["src/b/a.ts", "x/src/a.ts"]],
  ["folders", "src/**/a", ["src/a", "src/b/c/a"], ["src/ba", "a"]],
  ["anything", "src/**a", ["src/a", "src/b/ca"], ["src/b"]],
  ["choices", "*.{ts,{m,c}js,}", ["a.ts", "a.mjs", "a.cjs", "a."], ["a.js", "a.{ts"]],
  ["choices of paths", "{a,b/c}/d", ["a/d", "b/c/d"], ["c/d"]],
  ["a list", "[a-cx-]", ["b", "x", "-"], ["d", "a-c"]],
  ["a list of others, which leaves out the slash", "a[!b]c", ["axc"], ["abc", "a/c"]],
  ["what opens no list", "[a", ["[a", "x/[a"], ["a"]],
  ["a list over a slash, which is none", "a[b/c]d", ["a[b/c]d"], ["abd"]],
  ["escapes", "\\*\\{a\\}\\\\", ["*{a}\\"], ["b{a}\\"]],
  ["a closing brace", "a}", ["a}"], ["a"]],
])("a glob for %s: %s", (_, pattern, matching, others) => {
  const matches = compileGlob(pattern)
  expect(matching.filter((path) => !matches(path))).toEqual([])
  expect(others.filter(matches)).toEqual([])
})

test.each([
  ["a brace that stays open", "{a", 'has a "{" without a matching "}"'],
  ["a range in the wrong order", "[z-a]", "has a range in the wrong order"],
  ["more than 1000 characters", "a".repeat(1001), "is longer than 1000 characters"],
])("a glob with %s is rejected", (_, pattern, message) => {
  expect(() => compileGlob(pattern)).toThrow(message)
})

test("many alternatives take no more memory than their text", () => {
  expect(compileGlob("{a,b}".repeat(200))("ab".repeat(100))).toBe(true)
  expect(compileGlob("{a,b}".repeat(200))(`${"ab".repeat(99)}ac`)).toBe(false)
})

test.each([
  ["name", "a", ["a", "b/a"], ["ab"]],
  ["anchored", "/a", ["a"], ["b/a"]],
  ["path", "b/a", ["b/a"], ["c/b/a"]],
  ["any folders", "**/a/b", ["a/b", "c/a/b"], ["b"]],
  ["below", "a/**", ["a/b", "a/b/c"], ["a"]],
  ["star", "*.b", ["a.b", "x/a.b"], ["ab"]],
  ["escaped", "\\#a", ["#a"], ["a"]],
  ["braces, as ripgrep has them", "{a,b*}", ["a", "x/bc"], ["{a,b*}"]],
  ["comment", "# a", [], ["# a", "a"]],
  ["a list that does not end", "[a", ["[a"], ["a"]],
])("an ignore rule by %s: %s", (_, line, ignored, kept) => {
  const { says } = parseIgnoreFile(line)
  expect(ignored.map((path) => says(path, false))).toEqual(ignored.map(() => true))
  expect(kept.map((path) => says(path, false))).toEqual(kept.map(() => undefined))
})

test("the last matching ignore rule applies; a trailing slash matches folders only", () => {
  const { says } = parseIgnoreFile("*.log\n!keep.log\nbuild/\n")
  expect([says("a.log", false), says("keep.log", false), says("build", true), says("build", false)]).toEqual([
    true,
    false,
    true,
    undefined,
  ])
})
