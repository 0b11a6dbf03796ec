import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Files } from "../../../contract/env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { nodeFiles } from "./files.ts"

let base: string
let workspace: string
let files: Files

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-files-")))
  workspace = join(base, "ws")
  mkdirSync(workspace)
  files = nodeFiles({ roots: [workspace] })
})

afterEach(() => rmSync(base, { recursive: true, force: true }))

const text = async (path: string, cwd = workspace): Promise<string> =>
  new TextDecoder().decode(await files.read(path, cwd))
const write = (path: string, content: string, cwd = workspace) =>
  files.write(path, cwd, new TextEncoder().encode(content))

describe("roots", () => {
  test.each([
    ["does not exist", (): string[] => [join(base, "none")]],
    ["is a file", (): string[] => [fileAt("plain.txt")]],
    ["is not given", (): string[] => []],
  ])("a root that %s is config_invalid immediately", (_, roots) => {
    expect(() => nodeFiles({ roots: roots() })).toThrow(LonghaulError)
    expect(() => nodeFiles({ roots: [workspace], readOnlyRoots: [join(base, "none")] })).toThrow("does not exist")
  })

  test("a root reached through a link works under both names", async () => {
    symlinkSync(workspace, join(base, "alias"))
    writeFileSync(join(workspace, "a.txt"), "a")
    const aliased = nodeFiles({ roots: [join(base, "alias")] })
    for (const cwd of [workspace, join(base, "alias")]) {
      expect((await aliased.read("a.txt", cwd)).length).toBe(1)
      expect(aliased.display("a.txt", cwd)).toBe("a.txt")
    }
  })

  test("a read-only root can be read but not written, also inside a writable root and inside .longhaul", async () => {
    const results = join(base, "store/.longhaul/toolResults")
    mkdirSync(results, { recursive: true })
    mkdirSync(join(workspace, "vendor"))
    writeFileSync(join(results, "1.txt"), "kept")
    files = nodeFiles({ roots: [workspace], readOnlyRoots: [results, join(workspace, "vendor")] })
    expect(await text(join(results, "1.txt"))).toBe("kept")
    await expect(write(join(results, "1.txt"), "x")).rejects.toMatchObject({ code: "denied" })
    await expect(write("vendor/a.txt", "x")).rejects.toMatchObject({
      code: "denied",
      message: "vendor/a.txt is read-only.",
    })
    await write("other.txt", "x")
    expect(readFileSync(join(results, "1.txt"), "utf8")).toBe("kept")
  })
})

describe("display", () => {
  test("display is relative in the first root, absolute in others, and unchanged outside", () => {
    const second = join(base, "second")
    mkdirSync(second)
    files = nodeFiles({ roots: [workspace, second] })
    expect(files.display("a/../b.txt", workspace)).toBe("b.txt")
    expect(files.display("b.txt", join(workspace, "sub"))).toBe("sub/b.txt")
    expect(files.display(".", workspace)).toBe(".")
    expect(files.display(join(second, "x"), workspace)).toBe(join(second, "x"))
    expect(files.display(second, workspace)).toBe(second)
    expect(files.display("../../etc/passwd", workspace)).toBe("../../etc/passwd")
  })
})

describe("read, info and list", () => {
  test("read returns a whole file or ranges, by relative and absolute paths", async () => {
    mkdirSync(join(workspace, "sub"))
    writeFileSync(join(workspace, "sub/a.txt"), "0123456789")
    expect(await text("sub/a.txt")).toBe("0123456789")
    expect(await text("a.txt", join(workspace, "sub"))).toBe("0123456789")
    expect(await text("../sub/a.txt", join(workspace, "sub"))).toBe("0123456789")
    expect(await text(join(workspace, "sub/a.txt"))).toBe("0123456789")
    const range = async (offset: number, limit: number) =>
      (await files.read("sub/a.txt", workspace, { offset, limit })).length
    expect([await range(0, 4), await range(8, 4), await range(10, 4), await range(99, 4), await range(0, 0)]).toEqual([
      4, 2, 0, 0, 0,
    ])
  })

  test("names that only look like escapes are allowed", async () => {
    for (const name of ["..foo", "...", "a..b", ".longhaul2", "longhaul.configuration", "a\\b", "ünï 😀", "-rf"]) {
      await write(name, name)
      expect(await text(name)).toBe(name)
    }
  })

  test("links that stay inside are followed", async () => {
    mkdirSync(join(workspace, "real"))
    writeFileSync(join(workspace, "real/a.txt"), "a")
    symlinkSync("real", join(workspace, "folder"))
    symlinkSync("real/a.txt", join(workspace, "file"))
    expect(await text("folder/a.txt")).toBe("a")
    expect(await text("file")).toBe("a")
    expect(await files.info("file", workspace)).toMatchObject({ kind: "file", size: 1 })
    await write("file", "changed")
    expect(readFileSync(join(workspace, "real/a.txt"), "utf8")).toBe("changed")
    expect((await files.list(".", workspace)).find(({ name }) => name === "file")?.kind).toBe("link")
  })

  test("info reports the type and size of a path", async () => {
    writeFileSync(join(workspace, "a.txt"), "abc")
    mkdirSync(join(workspace, "sub"))
    mkdirSync(join(workspace, ".longhaul"))
    writeFileSync(join(workspace, "longhaul.config.json"), "{}")
    expect(await files.info("a.txt", workspace)).toEqual({
      kind: "file",
      size: 3,
      modifiedMs: statSync(join(workspace, "a.txt")).mtimeMs,
      version: expect.any(String),
    })
    expect(await files.info(".", workspace)).toMatchObject({ kind: "folder" })
    const entries = [...(await files.list(".", workspace))].sort((left, right) => (left.name < right.name ? -1 : 1))
    expect(entries).toEqual([
      { name: "a.txt", kind: "file" },
      { name: "sub", kind: "folder" },
    ])
  })

  test.each([
    ["a missing file", "none.txt", "not_found", "none.txt does not exist."],
    ["something below a file", "a.txt/x", "not_found", "a.txt/x does not exist."],
    ["a folder", "sub", "invalid_input", "sub is a folder."],
    ["a name that is too long", "x".repeat(300), "invalid_input", `${"x".repeat(300)} has a name that is too long.`],
  ])("read rejects %s", async (_, path, code, message) => {
    fileAt("ws/a.txt")
    mkdirSync(join(workspace, "sub"))
    await expect(files.read(path, workspace)).rejects.toMatchObject({ name: "ToolError", code, message })
  })

  test("list rejects a file, and read rejects a size that exceeds memory limits", async () => {
    fileAt("ws/a.txt")
    await expect(files.list("a.txt", workspace)).rejects.toMatchObject({ code: "invalid_input" })
    truncateSync(join(workspace, "a.txt"), 2 * 1024 ** 3)
    await expect(files.read("a.txt", workspace)).rejects.toMatchObject({ code: "invalid_input" })
    expect((await files.read("a.txt", workspace, { offset: 1024 ** 3, limit: 10 })).length).toBe(10)
  })
})

describe("write", () => {
  test("write creates missing folders, replaces files, and leaves no other file behind", {
    tags: ["TOOL-10", "TOOL-31"],
  }, async () => {
    expect(await write("a/b/c.txt", "one")).toEqual({ created: true })
    expect(await write("a/b/c.txt", "two")).toEqual({ created: false })
    expect(await text("a/b/c.txt")).toBe("two")
    expect(readdirSync(join(workspace, "a/b"))).toEqual(["c.txt"])
  })

  test("write replaces the name, so a file opened elsewhere keeps its old content", async () => {
    await write("a.txt", "old")
    const before = statSync(join(workspace, "a.txt")).ino
    await write("a.txt", "new")
    expect(statSync(join(workspace, "a.txt")).ino).not.toBe(before)
  })

  test("write keeps the mode of the replaced file, without setuid", async () => {
    await write("run.sh", "one")
    chmodSync(join(workspace, "run.sh"), 0o4751)
    await write("run.sh", "two")
    expect(statSync(join(workspace, "run.sh")).mode & 0o7777).toBe(0o751)
  })

  test.each([
    ["a folder", "sub", "invalid_input"],
    ["the root", ".", "invalid_input"],
    ["something below a file", "a.txt/b", "invalid_input"],
    ["something far below a file", "a.txt/b/c", "invalid_input"],
    ["a name that is too long", "x".repeat(300), "invalid_input"],
  ])("write refuses to replace %s, and leaves no temporary file", async (_, path, code) => {
    fileAt("ws/a.txt")
    mkdirSync(join(workspace, "sub"))
    await expect(write(path, "x")).rejects.toMatchObject({ name: "ToolError", code })
    expect(readdirSync(workspace).sort()).toEqual(["a.txt", "sub"])
  })

  test("a concurrent reader sees the old or the new content, never a mixture", async () => {
    const contents = ["a".repeat(200_000), "b".repeat(100_000)]
    await write("a.txt", contents[0] ?? "")
    let isWriting = true
    const writing = (async () => {
      for (let round = 0; round < 20; round++) await write("a.txt", contents[round % 2] ?? "")
      isWriting = false
    })()
    while (isWriting) expect(contents.includes(await text("a.txt"))).toBe(true)
    await writing
  })

  test("file operations leave no descriptor open, whatever happens", async () => {
    const open = (): number => readdirSync("/proc/self/fd").length
    fileAt("ws/a.txt")
    const before = open()
    for (let round = 0; round < 50; round++) {
      await files.read("a.txt", workspace)
      await write("b/c.txt", "x")
      await Promise.allSettled([
        files.read("none", workspace),
        write("a.txt/b/c", "x"),
        files.list("a.txt", workspace),
        write("b", "x"),
      ])
    }
    expect(open()).toBeLessThanOrEqual(before)
  })
})

function fileAt(name: string): string {
  writeFileSync(join(base, name), "x")
  return join(base, name)
}
