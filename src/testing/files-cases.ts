import type { Files } from "../contract/env.ts"
import { ToolError, type ToolErrorCode } from "../contract/tool.ts"

/** One requirement of the files contract; throws if it is violated. `cwd` is an empty folder that the case may use. */
export interface FilesCase {
  readonly name: string
  run(files: Files, cwd: string): Promise<void>
}

/** The requirements for every file system of tools, as data. */
export const filesCases: readonly FilesCase[] = [
  {
    name: "a path that does not exist cannot be read, inspected, listed, changed or removed",
    async run(files, cwd) {
      await refused("not_found", files.read("a", cwd))
      await refused("not_found", files.info("a", cwd))
      await refused("not_found", files.list("a", cwd))
      await refused("not_found", files.update("a", cwd, same))
      await refused("not_found", files.commit([{ path: "a", content: null }], cwd))
      equal((await files.list(".", cwd)).length, 0, "entries")
    },
  },
  {
    name: "a write creates missing folders or replaces the file; a read returns the exact bytes, whole or by range",
    async run(files, cwd) {
      const bytes = Uint8Array.from({ length: 3000 }, (_, index) => index % 256)
      equal((await files.write("d/e/a.bin", cwd, bytes)).created, true, "created")
      equal((await files.write("d/e/a.bin", cwd, bytes)).created, false, "created again")
      equal(String(await files.read("d/e/a.bin", cwd)), String(bytes), "the whole")
      equal(String(await files.read("d/e/a.bin", cwd, { offset: 10, limit: 5 })), "10,11,12,13,14", "a range")
      equal((await files.read("d/e/a.bin", cwd, { offset: 2999, limit: 5 })).length, 1, "a range at the end")
      equal((await files.read("d/e/a.bin", cwd, { offset: 4000, limit: 5 })).length, 0, "a range past the end")
      equal((await files.info("d/e/a.bin", cwd)).size, 3000, "the size")
      equal(names(await files.list("d", cwd)), "e:folder", "the parent folder")
      equal(names(await files.list("d/e", cwd)), "a.bin:file", "the folder")
      equal(files.display("d/../d/e/a.bin", cwd), "d/e/a.bin", "the displayed path")
    },
  },
  {
    name: "a file cannot be used as a folder, nor a folder as a file",
    async run(files, cwd) {
      await files.write("d/a", cwd, text("a"))
      await refused("invalid_input", files.read("d", cwd))
      await refused("invalid_input", files.write("d", cwd, text("x")))
      await refused("invalid_input", files.write("d/a/b", cwd, text("x")), "not_found")
      await refused("invalid_input", files.list("d/a", cwd))
      await refused("invalid_input", files.update("d", cwd, same))
      await refused("invalid_input", files.commit([{ path: "d", content: null }], cwd))
    },
  },
  {
    name: "a version changes with the content, and a write that expects another version changes nothing",
    async run(files, cwd) {
      await files.write("a", cwd, text("one"))
      const { version } = await files.info("a", cwd)
      equal((await files.info("a", cwd)).version, version, "the version of an untouched file")
      await files.write("a", cwd, text("two"), { version })
      await refused("conflict", files.write("a", cwd, text("three"), { version }))
      await refused("conflict", files.write("b", cwd, text("new"), { version }))
      equal(await readText(files, "a", cwd), "two", "the content")
    },
  },
  {
    name: "concurrent updates are all applied",
    async run(files, cwd) {
      await files.write("log", cwd, text(""))
      const add = (index: number) =>
        files.update("log", cwd, (bytes) => text(`${new TextDecoder().decode(bytes)}${index};`))
      await Promise.all(Array.from({ length: 40 }, (_, index) => add(index)))
      const lines = (await readText(files, "log", cwd)).split(";").slice(0, -1)
      equal(new Set(lines).size, 40, "applied updates")
    },
  },
  {
    name: "an update that throws leaves the file unchanged",
    async run(files, cwd) {
      await files.write("a", cwd, text("one"))
      const failing = files.update("a", cwd, () => {
        throw new ToolError("invalid_input", "no")
      })
      await refused("invalid_input", failing)
      equal(await readText(files, "a", cwd), "one", "the content")
      equal(names(await files.list(".", cwd)), "a:file", "the folder")
    },
  },
  {
    name: "a commit creates, replaces and removes files atomically",
    async run(files, cwd) {
      await files.write("old", cwd, text("old"))
      await files.write("kept", cwd, text("before"))
      const { version } = await files.info("kept", cwd)
      await files.commit(
        [
          { path: "old", content: null },
          { path: "kept", content: text("after"), version },
          { path: "new/folder/file", content: text("new"), version: null },
        ],
        cwd,
      )
      await refused("not_found", files.read("old", cwd))
      equal(await readText(files, "kept", cwd), "after", "the replaced file")
      equal(await readText(files, "new/folder/file", cwd), "new", "the created file")
      equal(names(await files.list(".", cwd)), "kept:file,new:folder", "the folder")
    },
  },
  {
    name: "a commit changes nothing if one of its changes fails",
    async run(files, cwd) {
      await files.write("a", cwd, text("a"))
      await files.write("d/b", cwd, text("b"))
      const changes = [
        { path: "a", content: text("changed") },
        { path: "fresh/c", content: text("c") },
      ]
      await refused("not_found", files.commit([...changes, { path: "nowhere", content: null }], cwd))
      await refused("conflict", files.commit([...changes, { path: "d/b", content: text("x"), version: null }], cwd))
      await refused("conflict", files.commit([...changes, { path: "d/b", content: text("x"), version: "else" }], cwd))
      await refused("invalid_input", files.commit([...changes, { path: "d", content: text("x") }], cwd))
      const twice = [{ path: "d/../a", content: null }]
      await refused("invalid_input", files.commit([...changes, ...twice], cwd))
      await refused("invalid_input", files.commit([...changes, { path: "fresh/c/below", content: text("x") }], cwd))
      equal(await readText(files, "a", cwd), "a", "the content")
      equal(names(await files.list(".", cwd)), "a:file,d:folder", "the folder")
    },
  },
  {
    name: "exactly one of many concurrent commits that create the same file succeeds",
    async run(files, cwd) {
      const create = (index: number) =>
        files.commit([{ path: "new/file", content: text(String(index)), version: null }], cwd).then(
          () => index,
          (error: unknown) => {
            if (error instanceof ToolError && error.code === "conflict") return undefined
            throw error
          },
        )
      const outcomes = await Promise.all(Array.from({ length: 8 }, (_, index) => create(index)))
      const done = outcomes.filter((index) => index !== undefined)
      equal(done.length, 1, "commits that succeeded")
      equal(await readText(files, "new/file", cwd), String(done[0]), "the content")
    },
  },
  {
    name: "files that control longhaul are neither visible nor writable",
    async run(files, cwd) {
      for (const path of [".longhaul/x", "longhaul.config.json", "d/.LONGHAUL/x", "Longhaul.Policy.yaml"]) {
        await refused("denied", files.write(path, cwd, text("x")))
        await refused("denied", files.commit([{ path, content: text("x") }], cwd))
        await refused("denied", files.read(path, cwd))
      }
    },
  },
]

const text = (content: string) => new TextEncoder().encode(content)
const same = (bytes: Uint8Array) => bytes

async function readText(files: Files, path: string, cwd: string): Promise<string> {
  return new TextDecoder().decode(await files.read(path, cwd))
}

function names(entries: Awaited<ReturnType<Files["list"]>>): string {
  return entries
    .map(({ name, kind }) => `${name}:${kind}`)
    .sort()
    .join()
}

async function refused(code: ToolErrorCode, work: Promise<unknown>, orElse: ToolErrorCode = code): Promise<void> {
  try {
    await work
  } catch (error) {
    if (error instanceof ToolError && (error.code === code || error.code === orElse)) return
    throw error
  }
  throw new Error(`it should have been rejected with ${code}`)
}

function equal(actual: unknown, expected: unknown, what: string): void {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)}, expected ${String(expected)}`)
}
