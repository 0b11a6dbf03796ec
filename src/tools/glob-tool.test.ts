import { expect, test } from "vitest"
import type { JsonObject } from "../contract/json.ts"
import { createDispatcher } from "./dispatch.ts"
import { globTool } from "./glob-tool.ts"
import { parseIgnoreFile } from "./ignore-rules.ts"
import { memoryFiles } from "./memory-files.ts"

const dispatcher = createDispatcher([globTool()])

async function glob(args: JsonObject, content: Readonly<Record<string, string>>, later: readonly string[] = []) {
  const files = memoryFiles(content)
  for (const path of later) {
    await new Promise((resolve) => setTimeout(resolve, 2))
    await files.write(path, "/", new TextEncoder().encode("later"))
  }
  const { signal } = new AbortController()
  const context = { signal, idempotencyKey: "", runId: "", callId: "", cwd: "/", env: { files }, progress() {} }
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

test("finds by name at any depth, or by path from the folder", async () => {
  expect(await glob({ pattern: "*.ts" }, project)).toBe("a.ts\nsrc/b.ts\nsrc/deep/c.ts")
  expect(await glob({ pattern: "src/*.{ts,md}" }, project)).toBe("src/b.ts")
  expect(await glob({ pattern: "**/*.md", path: "src" }, project)).toBe("src/deep/d.md")
  expect(await glob({ pattern: "*.none" }, project)).toBe("No files.")
})

test("the newest come first, and what is left out is counted", async () => {
  expect(await glob({ pattern: "*.ts" }, project, ["src/b.ts", "a.ts"])).toBe("a.ts\nsrc/b.ts\nsrc/deep/c.ts")
  expect(await glob({ pattern: "*.ts", limit: 1 }, project, ["src/deep/c.ts"])).toBe(
    "src/deep/c.ts\n[2 more; narrow the pattern or raise limit]",
  )
})

test("ignore files are honoured, the nearest first, also from a folder below them", async () => {
  const ignoring = { ...project, ".gitignore": "*.ts\n!src/\n", "src/deep/.ignore": "!c.ts" }
  expect(await glob({ pattern: "*" }, ignoring)).toBe(".gitignore\nsrc/deep/.ignore\nsrc/deep/c.ts\nsrc/deep/d.md")
  expect(await glob({ pattern: "*.ts", path: "src" }, ignoring)).toBe("src/deep/c.ts")
})

test("a pattern that makes no sense is told to the model", async () => {
  expect(await glob({ pattern: "{a" }, project)).toContain("invalid_input")
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
])("a rule by %s: %s", (_, line, ignored, kept) => {
  const { says } = parseIgnoreFile(line)
  expect(ignored.map((path) => says(path, false))).toEqual(ignored.map(() => true))
  expect(kept.map((path) => says(path, false))).toEqual(kept.map(() => undefined))
})

test("of several rules the last counts; a slash at the end is about folders", () => {
  const { says } = parseIgnoreFile("*.log\n!keep.log\nbuild/\n")
  expect([says("a.log", false), says("keep.log", false), says("build", true), says("build", false)]).toEqual([
    true,
    false,
    true,
    undefined,
  ])
})
