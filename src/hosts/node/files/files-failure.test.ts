import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test, vi } from "vitest"
import { nodeFiles } from "./files.ts"

const failure = vi.hoisted(() => ({ code: "" }))

vi.mock("node:fs/promises", async (importActual) => {
  const actual = await importActual<typeof import("node:fs/promises")>()
  const rename: typeof actual.rename = (from, to) => {
    if (failure.code === "") return actual.rename(from, to)
    return Promise.reject(Object.assign(new Error(`${failure.code}: ${String(from)}`), { code: failure.code }))
  }
  return { ...actual, rename }
})

const workspace = mkdtempSync(join(tmpdir(), "longhaul-failure-"))
afterAll(() => rmSync(workspace, { recursive: true, force: true }))

test.each([
  ["ENOSPC", "io", "a.txt could not be used (ENOSPC)."],
  ["EIO", "io", "a.txt could not be used (EIO)."],
  ["EISDIR", "conflict", "a.txt became a folder in the meantime."],
  ["EACCES", "denied", "a.txt is not accessible to this process."],
])(
  "a write that fails with %s keeps the old file, leaves no temporary file and names no real path",
  async (errno, code, message) => {
    writeFileSync(join(workspace, "a.txt"), "old")
    failure.code = errno
    const writing = nodeFiles({ roots: [workspace] }).write("a.txt", workspace, new TextEncoder().encode("new"))
    await expect(writing).rejects.toMatchObject({ name: "ToolError", code, message })
    expect(readdirSync(workspace)).toEqual(["a.txt"])
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("old")
  },
)
