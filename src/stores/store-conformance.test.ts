import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { Appending, Folder, Store } from "../contract/store.ts"
import { createOnlyStore, fsStore } from "../hosts/node/store/fs-store.ts"
import { partOf } from "../lib/list-part.ts"
import { storeCases } from "../testing/store-cases.ts"
import { memoryStore } from "./memory.ts"

const root = mkdtempSync(join(tmpdir(), "longhaul-stores-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let made = 0
const freshRoot = () => join(root, `store-${made++}`)

const family: Readonly<Record<string, () => Store>> = {
  memoryStore,
  fsStore: () => fsStore(freshRoot()),
  createOnlyStore: () => createOnlyStore(freshRoot()),
}

describe.each(Object.entries(family))("%s passes the store conformance cases", (_, make) => {
  const appends = make().folder("run").append !== undefined
  // The append cases do not apply to stores without appending.
  for (const { name, run } of storeCases.filter(({ needs }) => appends || needs !== "append")) {
    test(name, () => run(make()))
  }
})

test("fsStore appends on this file system, createOnlyStore never does", () => {
  expect(fsStore(freshRoot()).folder("run").append).toBeDefined()
  expect(createOnlyStore(freshRoot()).folder("run").append).toBeUndefined()
})

/** A memory store with some of each folder's operations replaced. */
function brokenStore(breakFolder: (folder: Folder, append: Appending) => Partial<Folder>): Store {
  const sound = memoryStore()
  return {
    ...sound,
    folder(path) {
      const folder = sound.folder(path)
      return { ...folder, ...breakFolder(folder, folder.append as Appending) }
    },
  }
}

const brokenStores: Readonly<Record<string, () => Store>> = {
  "a create that overwrites": () =>
    brokenStore((folder) => ({
      async create(name, bytes) {
        const answer = (await folder.exists(name)) ? "exists" : "created"
        await folder.replace(name, bytes)
        return answer
      },
    })),
  "a create that returns created to every caller": () =>
    brokenStore((folder) => ({
      async create(name, bytes) {
        await folder.create(name, bytes)
        return "created"
      },
    })),
  "a create that checks first and writes later": () =>
    brokenStore((folder) => ({
      async create(name, bytes) {
        if (await folder.exists(name)) return "exists"
        await folder.replace(name, bytes)
        return "created"
      },
    })),
  "a create that keeps the caller's bytes": () => {
    const kept = new Map<string, Uint8Array>()
    return brokenStore((folder) => ({
      async create(name, bytes) {
        const answer = await folder.create(name, bytes)
        if (answer === "created") kept.set(folder.location + name, bytes)
        return answer
      },
      read: async (name) => kept.get(folder.location + name) ?? folder.read(name),
    }))
  },
  "an exists that remembers absence": () => {
    const absent = new Set<string>()
    return brokenStore((folder) => ({
      async exists(name) {
        if (!absent.has(name) && !(await folder.exists(name))) absent.add(name)
        return !absent.has(name)
      },
    }))
  },
  "an exists that sees only what was written to": () =>
    brokenStore((folder) => ({ exists: async (name) => ((await folder.read(name))?.length ?? 0) > 0 })),
  "a list that cuts before it sorts": () => {
    const sound = memoryStore()
    const list: Store["list"] = async (path, part) =>
      partOf((await sound.list(path)).toReversed().slice(0, part?.limit).sort(), part)
    return { ...sound, list }
  },
  "a list that includes the name `after`, and so returns one name too few": () => {
    const sound = memoryStore()
    const list: Store["list"] = async (path, { after = "", limit } = {}) =>
      (await sound.list(path)).filter((name) => name >= after).slice(0, limit)
    return { ...sound, list }
  },
  "a read that returns empty bytes for an absent file": () =>
    brokenStore((folder) => ({ read: async (name) => (await folder.read(name)) ?? new Uint8Array() })),
  "a read that decodes text": () =>
    brokenStore((folder) => ({
      async read(name) {
        const bytes = await folder.read(name)
        return bytes && new TextEncoder().encode(new TextDecoder().decode(bytes))
      },
    })),
  "a delete that does nothing": () => brokenStore(() => ({ delete: async () => {} })),
  "a delete that leaves an empty file": () =>
    brokenStore((folder) => ({ delete: (name) => folder.replace(name, new Uint8Array()) })),
  "a delete that rejects an absent file": () =>
    brokenStore((folder) => ({
      async delete(name) {
        if (!(await folder.exists(name))) throw new Error("ENOENT")
        await folder.delete(name)
      },
    })),
  "an append that drops a write": () =>
    brokenStore((_, append) => ({
      append: {
        ...append,
        async open(name, first) {
          const file = await append.open(name, first)
          let writes = 0
          return file && { ...file, write: async (bytes) => (writes++ === 1 ? undefined : file.write(bytes)) }
        },
      },
    })),
  "an append that shows its bytes on close": () =>
    brokenStore((_, append) => ({
      append: {
        ...append,
        async open(name, first) {
          const file = await append.open(name, first)
          const held: Uint8Array[] = []
          if (file === null) return null
          return {
            ...file,
            write: async (bytes) => void held.push(bytes.slice()),
            async close() {
              for (const bytes of held) await file.write(bytes)
            },
          }
        },
      },
    })),
  "an open whose first bytes come after its name": () =>
    brokenStore((_, append) => ({
      append: {
        ...append,
        async open(name, first) {
          const file = await append.open(name, new Uint8Array())
          await new Promise((resolve) => setImmediate(resolve))
          await file?.write(first)
          return file
        },
      },
    })),
  "an open file that never misses its name": () =>
    brokenStore((_, append) => ({
      append: {
        ...append,
        async open(name, first) {
          const file = await append.open(name, first)
          return file && { ...file, stands: async () => true }
        },
      },
    })),
  "an open that reopens": () => {
    const files = new Map<string, Awaited<ReturnType<Appending["open"]>>>()
    return brokenStore((folder, append) => ({
      append: {
        ...append,
        async open(name, first) {
          const file = (await append.open(name, first)) ?? files.get(folder.location + name) ?? null
          files.set(folder.location + name, file)
          return file
        },
      },
    }))
  },
  "an open that does not see created names": () =>
    brokenStore((folder, append) => ({
      append: {
        ...append,
        open: async (name, first) => (await append.open(name, first)) ?? append.open(`${name}-${Math.random()}`, first),
      },
      create: (name, bytes) => folder.create(name, bytes),
    })),
  "a list that matches by prefix": () => {
    const sound = memoryStore()
    const names = new Set<string>()
    const under = (path: string) =>
      [
        ...new Set([...names].filter((name) => name.startsWith(path)).map((name) => name.split("/").at(-1) ?? "")),
      ].sort()
    return {
      ...sound,
      list: async (path) => under(path),
      folder(path) {
        const folder = sound.folder(path)
        const create: Folder["create"] = (name, bytes) => {
          names.add(`${path}/${name}`)
          return folder.create(name, bytes)
        }
        return { ...folder, create, list: async () => under(path) }
      },
    }
  },
  "a list in the order of creation": () => {
    const names: string[] = []
    return brokenStore((folder) => ({
      create(name, bytes) {
        names.push(name)
        return folder.create(name, bytes)
      },
      list: async () => names,
    }))
  },
  "a folder that ignores its path": () => {
    const sound = memoryStore()
    return { ...sound, folder: () => sound.folder("shared") }
  },
}

describe("the conformance cases detect a broken store", () => {
  test.each(Object.entries(brokenStores))("the cases detect %s", async (_, make) => {
    const broken: string[] = []
    for (const { name, run } of storeCases) {
      await run(make()).catch((error: Error) => {
        expect(error.message).not.toBe("")
        broken.push(name)
      })
    }
    expect(broken).not.toEqual([])
  })
})

describe.each([
  { form: "fsStore", make: fsStore },
  { form: "createOnlyStore", make: createOnlyStore },
])("$form on disk", ({ make }) => {
  const bytes = new TextEncoder().encode("bytes")
  const storage = expect.objectContaining({ code: "storage", retryable: true })

  test("files have mode 0600 and folders 0700", async () => {
    const base = freshRoot()
    const folder = make(base).folder("tenants/acme/run")
    await folder.create("000000.jsonl", bytes)
    await folder.create("inbox/000000.json", bytes)
    await folder.replace("state.json", bytes)
    await (await folder.append?.open("000001.jsonl", bytes))?.close()
    const modes = new Set<string>()
    for (const name of ["", ...(readdirSync(base, { recursive: true }) as string[])]) {
      const stat = statSync(join(base, name))
      modes.add(`${stat.isDirectory() ? "folder" : "file"} ${(stat.mode & 0o777).toString(8)}`)
    }
    expect([...modes].sort()).toEqual(["file 600", "folder 700"])
  })

  test("the store's location is an absolute path", () => {
    const base = freshRoot()
    expect(make(base).location).toBe(base)
    expect(make(base).folder("tenants/acme").location).toBe(join(base, "tenants/acme"))
    expect(make("relative").location).toBe(join(process.cwd(), "relative"))
  })

  test("no temporary file is left, also after a lost or failed create", async () => {
    const base = freshRoot()
    const folder = make(base).folder("run")
    await Promise.all(Array.from({ length: 6 }, () => folder.create("000000.jsonl", bytes)))
    await Promise.all(Array.from({ length: 6 }, () => folder.replace("state.json", bytes)))
    mkdirSync(join(base, "run/taken"))
    await expect(folder.replace("taken", bytes)).rejects.toEqual(storage)
    expect(readdirSync(join(base, "run")).sort()).toEqual(["000000.jsonl", "state.json", "taken"])
  })

  test("another writer's unfinished file is not listed", async () => {
    const base = freshRoot()
    const store = make(base)
    await store.folder("run").create("000000.jsonl", bytes)
    writeFileSync(join(base, "run/.tmp-0123"), "half")
    expect(await store.list("run")).toEqual(["000000.jsonl"])
    expect(await store.folder("run").list()).toEqual(["000000.jsonl"])
  })

  /** Every operation that can fail; each must then reject with `storage`. */
  async function expectStorageError(folder: Folder, name: string): Promise<void> {
    await expect(folder.create(name, bytes)).rejects.toEqual(storage)
    await expect(folder.replace(name, bytes)).rejects.toEqual(storage)
    if (!folder.append) return
    await expect(folder.append.open(name, bytes)).rejects.toEqual(storage)
    await expect(folder.append.sync(name)).rejects.toEqual(storage)
  }

  test("a root that is a file has nothing to read, and writing there is a typed storage error", async () => {
    const base = freshRoot()
    writeFileSync(base, "a file")
    await expectStorageError(make(base).folder("run"), "000000.jsonl")
    expect(await make(base).folder("run").read("000000.jsonl")).toBeNull()
  })

  test.each([
    ["ELOOP", (base: string) => symlinkSync("loop", join(base, "loop"))],
    ["ENAMETOOLONG", () => {}],
  ])("an inaccessible root (%s) is config_invalid with a fix when the store is created", (errno, prepare) => {
    const base = freshRoot()
    mkdirSync(base)
    prepare(base)
    const unreachable = join(base, errno === "ELOOP" ? "loop" : "x".repeat(300), "store")
    const refused = expect.objectContaining({ code: "config_invalid", fix: expect.any(String) })
    expect(() => make(unreachable)).toThrow(refused)
    expect(() => make(unreachable)).toThrow(errno)
  })

  test("the folder of all runs is recreated if it was removed", async () => {
    const base = freshRoot()
    const store = make(base)
    await store.folder("runs/one").create("000000.jsonl", bytes)
    rmSync(join(base, "runs"), { recursive: true })
    expect(await store.folder("runs/two").create("000000.jsonl", bytes)).toBe("created")
    expect(await store.folder("runs/two").read("000000.jsonl")).toEqual(bytes)
  })

  test("a folder removed during use is a typed storage error for writers and absent for readers", async () => {
    const base = freshRoot()
    const folder = make(base).folder("run")
    await folder.create("000000.jsonl", bytes)
    rmSync(join(base, "run"), { recursive: true })
    await expectStorageError(folder, "000001.jsonl")
    expect(await folder.read("000000.jsonl")).toBeNull()
    expect(await folder.exists("000000.jsonl")).toBe(false)
    expect(await folder.list()).toEqual([])
  })

  test("a name that the file system rejects is a typed storage error that names it", async () => {
    const folder = make(freshRoot()).folder("run")
    await folder.create("000000.jsonl", bytes)
    await expectStorageError(folder, "x".repeat(300))
    const error = await folder.create("x".repeat(300), bytes).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ data: { errno: "ENAMETOOLONG" }, fix: expect.any(String) })
    await folder.create("inbox/000000.json", bytes)
    // Reading a folder as a file fails each time.
    await expect(folder.read("inbox")).rejects.toMatchObject({ code: "storage", retryable: false })
  })
})
