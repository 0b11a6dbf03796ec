import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { fsStore } from "./fs-store.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-linked-")))
afterAll(() => rmSync(base, { recursive: true, force: true }))

test("a store confined to a folder reads and lists no symbolic link that leads out of it", async () => {
  mkdirSync(join(base, "mine", "deep"), { recursive: true })
  mkdirSync(join(base, "theirs"))
  writeFileSync(join(base, "theirs", "secret"), "secret")
  writeFileSync(join(base, "mine", "own"), "own")
  symlinkSync(join(base, "theirs", "secret"), join(base, "mine", "out"))
  symlinkSync("../theirs", join(base, "mine", "folder"))
  symlinkSync("loop", join(base, "mine", "loop"))
  symlinkSync("../own", join(base, "mine", "deep", "inside"))
  const store = fsStore(base).within?.("mine")
  const read = async (path: string, name: string) => {
    const bytes = await store?.folder(path).read(name)
    return bytes && new TextDecoder().decode(bytes)
  }
  expect(await read("mine", "own")).toBe("own")
  expect(await read("mine/deep", "inside")).toBe("own")
  for (const [path, name] of [
    ["mine", "out"],
    ["mine/folder", "secret"],
    ["mine", "folder/secret"],
    ["mine", "loop"],
    ["mine", "deep"],
    ["mine", "absent"],
    ["theirs", "secret"],
  ] as const) {
    expect([path, name, await read(path, name)]).toEqual([path, name, null])
  }
  expect(await store?.list("mine")).toEqual(["deep", "loop", "own"])
  expect(await store?.list("mine/folder")).toEqual([])
  expect(await store?.list("theirs")).toEqual([])
})
