import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { FileGuard, Files } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { nodeSearch } from "../search/ripgrep.ts"
import { withSessionFolder } from "../store/session-folder.ts"
import { nodeFiles } from "./files.ts"

let root: string
let asked: string[]

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-guard-")))
  for (const folder of ["secrets", "plain"]) {
    mkdirSync(join(root, folder))
    writeFileSync(join(root, folder, "key.txt"), folder)
  }
  symlinkSync("secrets", join(root, "x"))
  symlinkSync("plain", join(root, "y"))
  asked = []
})
afterEach(() => rmSync(root, { recursive: true }))

/** Refuses everything in `secrets`, for one access. */
const refusing =
  (refused: "read" | "write"): FileGuard =>
  (real, access) => {
    asked.push(`${access} ${real.slice(root.length + 1)}`)
    if (access === refused && /\/secrets(\/|$)/.test(real)) throw new ToolError("denied", "is refused")
  }

const guarded = (refused: "read" | "write", files = nodeFiles({ roots: [root] })) =>
  files.guarded?.(refusing(refused)) ?? files
const bytes = new TextEncoder().encode("new")

const accesses: readonly (readonly [string, "read" | "write", (files: Files, folder: string) => Promise<unknown>])[] = [
  ["info", "read", (files, folder) => files.info(`${folder}/key.txt`, root)],
  ["read", "read", (files, folder) => files.read(`${folder}/key.txt`, root)],
  ["list", "read", (files, folder) => files.list(folder, root)],
  ["update, which reads", "read", (files, folder) => files.update(`${folder}/key.txt`, root, () => bytes)],
  ["update, which writes", "write", (files, folder) => files.update(`${folder}/key.txt`, root, () => bytes)],
  ["write", "write", (files, folder) => files.write(`${folder}/key.txt`, root, bytes)],
  ["write of a new file", "write", (files, folder) => files.write(`${folder}/new.txt`, root, bytes)],
  ["write of a new file in new folders", "write", (files, folder) => files.write(`${folder}/a/b/new.txt`, root, bytes)],
  ["commit", "write", (files, folder) => files.commit([{ path: `${folder}/key.txt`, content: bytes }], root)],
  [
    "commit of a new file",
    "write",
    (files, folder) => files.commit([{ path: `${folder}/a/new`, content: bytes }], root),
  ],
  [
    "commit of a removal",
    "write",
    (files, folder) => files.commit([{ path: `${folder}/key.txt`, content: null }], root),
  ],
]

test.each(accesses)("a guard checks the real path of %s, through a link too", async (_, access, use) => {
  for (const folder of ["secrets", "x"]) {
    await expect(use(guarded(access), folder)).rejects.toMatchObject({ code: "denied" })
    expect(asked.some((each) => each.startsWith(`${access} secrets`))).toBe(true)
  }
  expect(readFileSync(join(root, "secrets/key.txt"), "utf8")).toBe("secrets")
  expect(existsSync(join(root, "secrets/a"))).toBe(false)
  await use(guarded(access), "y")
})

test("a guard leaves refused entries out of a list, and several guards refuse together", async () => {
  const names = async (files: Files) => (await files.list(".", root)).map(({ name }) => name).sort()
  expect(await names(guarded("read"))).toEqual(["plain", "x", "y"])
  const both = guarded("read").guarded?.((real) => {
    if (real.endsWith("/y")) throw new ToolError("denied", "is refused")
  })
  expect(both && (await names(both))).toEqual(["plain", "x"])
})

test("an error of a guard names the path as its author knows it", async () => {
  await expect(guarded("read").read("x/key.txt", root)).rejects.toThrow("x/key.txt is refused.")
})

test("a search asks the guard about its folder and every file that it finds", async () => {
  const search = nodeSearch({ roots: [root] }).guarded?.(refusing("read"))
  const request = { cwd: root, pattern: ".", ignoreCase: false, multiline: false, names: [], skippedFolders: [] }
  const signal = new AbortController().signal
  const find = (path: string) => search?.find({ ...request, path, maxFileBytes: 1000, signal })
  expect(await find("x")).toBeUndefined()
  const found = await find(".")
  expect(found?.paths).toEqual(["plain/key.txt"])
  await found?.close()
})

test("the files of a session are guarded, in its own folder too", async () => {
  const own = join(root, "session/secrets")
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, "output.txt"), "spilled")
  const env = { files: nodeFiles({ roots: [join(root, "plain")] }), search: nodeSearch({ roots: [root] }) }
  const { files, search } = withSessionFolder(env, own)
  expect(search?.guarded).toBeDefined()
  const session = files && guarded("read", files)
  expect(new TextDecoder().decode(await files?.read(join(own, "output.txt"), root))).toBe("spilled")
  await expect(session?.read(join(own, "output.txt"), root)).rejects.toMatchObject({ code: "denied" })
  expect(new TextDecoder().decode(await session?.read(join(root, "plain/key.txt"), root))).toBe("plain")
})

test("a file whose name ends like that of a deleted one can be used", async () => {
  const path = "plain/old (deleted)"
  writeFileSync(join(root, path), "still here")
  expect(new TextDecoder().decode(await guarded("read").read(path, root))).toBe("still here")
})
