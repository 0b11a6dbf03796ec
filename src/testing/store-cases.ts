import type { AppendFile, Appending, Folder, Store } from "../contract/store.ts"
import { concatBytes, equalBytes } from "../lib/bytes.ts"
import { partOf } from "../lib/list-part.ts"

/** One requirement of the store contract. `run` gets an empty store, and throws if the requirement is violated. */
export interface StoreCase {
  readonly name: string
  /** Only for stores whose folders append. */
  readonly needs?: "append"
  run(store: Store): Promise<void>
}

/** The requirements for every store, as data: run each case on its own store, in any test runner. */
export const storeCases: readonly StoreCase[] = [
  {
    name: "readFrom returns exactly the bytes after an offset",
    needs: "append",
    async run(store) {
      const folder = store.folder(RUN)
      // Safe: the case needs an appending store.
      const append = folder.append as Appending
      check((await append.readFrom(SHARD, 0)) === null, "readFrom of an absent name must return null")
      // Safe: the name was free.
      const file = (await append.open(SHARD, text("zero "))) as AppendFile
      await file.write(text("one "))
      await file.write(text("two"))
      checkBytes(await append.readFrom(SHARD, 0), text("zero one two"), "all bytes")
      checkBytes(await append.readFrom(SHARD, 9), text("two"), "the bytes after the first write")
      checkBytes(await append.readFrom(SHARD, 12), text(""), "the bytes after all writes")
      await file.close()
    },
  },
  {
    name: "an absent name cannot be read, seen or listed",
    async run(store) {
      const folder = store.folder(RUN)
      check((await folder.read(SHARD)) === null, "read of an absent name must return null")
      check((await folder.read(INBOX)) === null, "read of a name in an absent subfolder must return null")
      check(!(await folder.exists(SHARD)), "exists must return false for an absent name")
      check(!(await folder.exists(INBOX)), "exists must return false for a name in an absent subfolder")
      checkNames(await folder.list(), [], "the list of an absent folder")
      checkNames(await store.list(RUN), [], "the list of an absent path")
      check(store.location !== "" && folder.location !== "", "a folder must have a location")
    },
  },
  createsOnce("000000.jsonl"),
  createsOnce("inbox/000000.json"),
  {
    name: "read returns exact bytes: none, binary, a megabyte",
    async run(store) {
      const folder = store.folder(RUN)
      for (const length of [0, 1, 4096, 1_048_576]) {
        const bytes = noise(length)
        await folder.create(`created-${length}`, bytes)
        await folder.replace(`replaced-${length}`, bytes)
        checkBytes(await folder.read(`created-${length}`), bytes, `a created file of ${length} bytes`)
        checkBytes(await folder.read(`replaced-${length}`), bytes, `a replaced file of ${length} bytes`)
      }
      check(await folder.exists("created-0"), "an empty file exists")
    },
  },
  {
    name: "exactly one of many concurrent creates of a name succeeds, and its bytes are kept",
    async run(store) {
      const bodies = Array.from({ length: 8 }, (_, index) => text(`body of contender ${index} `.repeat(index + 1)))
      const answers = await Promise.all(bodies.map((body) => store.folder(RUN).create(SHARD, body)))
      const winners = bodies.filter((_, index) => answers[index] === "created")
      check(winners.length === 1, `${winners.length} of 8 concurrent creates of one name returned "created"`)
      checkBytes(await store.folder(RUN).read(SHARD), winners[0], "the contested name")
    },
  },
  {
    name: "a created name is immediately visible from every folder of the path",
    async run(store) {
      const watcher = store.folder(RUN)
      for (let index = 0; index < 5; index++) {
        const name = `00000${index}.jsonl`
        check(!(await watcher.exists(name)), `exists must return false for ${name} before it is created`)
        await store.folder(RUN).create(name, text(name))
        check(await watcher.exists(name), `exists must return true for ${name} as soon as create has returned`)
        checkBytes(await watcher.read(name), text(name), name)
      }
    },
  },
  {
    name: "list returns the sorted, distinct names directly under a path",
    async run(store) {
      const folder = store.folder(RUN)
      const created = ["000010.jsonl", "state.json", "000002.jsonl", "inbox/000001.json", "inbox/000000.json", "Z", "a"]
      for (const name of created) await folder.create(name, text(name))
      const expected = ["000002.jsonl", "000010.jsonl", "Z", "a", "inbox", "state.json"]
      checkNames(await folder.list(), expected, "the folder's list")
      checkNames(await store.list(RUN), expected, "the list of the folder's path")
      checkNames(await store.list(`${RUN}/inbox`), ["000000.json", "000001.json"], "the list of a subfolder")
      checkNames(await store.list("runs"), ["one"], "the list of the parent path")
    },
  },
  {
    name: "a part of a listing is what a full listing has behind `after`, up to `limit`, by code units",
    async run(store) {
      const names = ["A", "Z", "a", "a-b", "a.b", "a_b", "a~b", "aa", "b", "b-1", "~"]
      for (const name of names) await store.folder(`runs/${name}`).create(SHARD, text(name))
      for (const name of ["00", "c"]) await store.folder("runs").create(name, text(name))
      const all = [...names, "00", "c"].sort()
      checkNames(await store.list("runs"), all, "the whole list")
      // Also places between names, before the first and behind the last.
      for (const after of [undefined, "", ...all, "a-", "a0", "a\u007f", "zz", "\u007f"]) {
        const behind = all.filter((name) => after === undefined || name > after)
        for (const limit of [undefined, 0, 1, 2, 5, all.length, 5000]) {
          const part = { ...(after !== undefined && { after }), ...(limit !== undefined && { limit }) }
          const found = partOf(await store.list("runs", part), part)
          checkNames(found, behind.slice(0, limit), `the part ${JSON.stringify(part)} of a list`)
        }
      }
      checkNames(await store.list("none", { after: "a", limit: 3 }), [], "the part of an absent path's list")
    },
  },
  {
    name: "a listing that is read in parts while others create has every name that was there before",
    async run(store) {
      const folder = store.folder("runs")
      const before = Array.from({ length: 12 }, (_, index) => `b${String(index).padStart(2, "0")}`)
      for (const name of before) await folder.create(name, text(name))
      const creating = Promise.all(
        Array.from({ length: 12 }, (_, index) => folder.create(`${index % 2 ? "a" : "c"}${index}`, text("late"))),
      )
      const found: string[] = []
      for (let after: string | undefined; ; after = found.at(-1)) {
        const part = { limit: 5, ...(after !== undefined && { after }) }
        const names = partOf(await store.list("runs", part), part)
        if (names.length === 0) break
        found.push(...names)
      }
      await creating
      checkNames([...new Set(found)].sort(), found, "names read in parts, in order and each once")
      checkNames(
        found.filter((name) => before.includes(name)),
        before,
        "names that were there before",
      )
    },
  },
  {
    name: "folders with a common path prefix do not see each other's names",
    async run(store) {
      const paths = ["tenants/acme", "tenants/acme-2", "tenants/acm", "tenants/acme/nested"]
      for (const path of paths) await store.folder(path).create("name", text(path))
      for (const path of paths) checkBytes(await store.folder(path).read("name"), text(path), `name in ${path}`)
      checkNames(await store.list("tenants"), ["acm", "acme", "acme-2"], "the list of tenants")
      checkNames(await store.list("tenants/acme"), ["name", "nested"], "the list of tenants/acme")
      checkNames(await store.folder("tenants/acm").list(), ["name"], "the list of tenants/acm")
      await store.folder("tenants/acme").create("only-here", text("x"))
      check(!(await store.folder("tenants/acme-2").exists("only-here")), "acme-2 must not see a name of acme")
    },
  },
  {
    name: "replace creates or overwrites a name; the last writer wins completely",
    async run(store) {
      const folder = store.folder(RUN)
      for (const name of ["state.json", "outbox/state.json"]) {
        for (const body of ["first", "a second, longer body", "3"]) {
          await folder.replace(name, text(body))
          checkBytes(await folder.read(name), text(body), `${name} after a replace`)
        }
        check((await folder.create(name, text("created"))) === "exists", "create must not overwrite a replaced name")
        checkBytes(await folder.read(name), text("3"), `${name} after a rejected create`)
      }
      const bodies = Array.from({ length: 6 }, (_, index) => noise(2000 * (index + 1), index))
      await Promise.all(bodies.map((body) => folder.replace("contended", body)))
      const found = await folder.read("contended")
      const whole = bodies.some((body) => found !== null && equalBytes(found, body))
      check(whole, "concurrent replaces must leave one writer's complete bytes")
    },
  },
  {
    name: "delete removes one name of one folder, and succeeds for an absent name",
    async run(store) {
      const folder = store.folder(RUN)
      const neighbour = store.folder(`${RUN}-2`)
      await neighbour.create(SHARD, text("next door"))
      await folder.delete(SHARD)
      for (const name of [SHARD, INBOX, "inbox/000001.json", "state.json"]) await folder.create(name, text(name))
      for (const name of [SHARD, INBOX]) {
        await folder.delete(name)
        await folder.delete(name)
        check((await folder.read(name)) === null, `read of the deleted name ${name} must return null`)
        check(!(await folder.exists(name)), `exists must return false for the deleted name ${name}`)
      }
      checkNames(await folder.list(), ["inbox", "state.json"], "the list after deletes")
      checkNames(await store.list(`${RUN}/inbox`), ["000001.json"], "the list of a subfolder after a delete")
      checkBytes(await folder.read("state.json"), text("state.json"), "a name next to the deleted ones")
      checkBytes(await neighbour.read(SHARD), text("next door"), "the deleted name in another folder")
      check((await folder.create(SHARD, text("again"))) === "created", "a deleted name can be created again")
      checkBytes(await folder.read(SHARD), text("again"), "a name created after its deletion")
    },
  },
  {
    name: "changing bytes that were passed in or returned does not change a file",
    async run(store) {
      const folder = store.folder(RUN)
      const bytes = text("unchanged")
      await folder.create("created", bytes)
      await folder.replace("replaced", bytes)
      bytes.fill(0)
      ;(await folder.read("created"))?.fill(0)
      checkBytes(await folder.read("created"), text("unchanged"), "a created file whose caller reused its buffer")
      checkBytes(await folder.read("replaced"), text("unchanged"), "a replaced file whose caller reused its buffer")
    },
  },
  {
    name: "only the call that creates a file can open it for appending",
    needs: "append",
    async run(store) {
      const { folder, append } = appendingFolder(store)
      const file = await opened(append, SHARD, "first ")
      check(await folder.exists(SHARD), "exists must return true for an opened name before anything is written to it")
      checkBytes(await folder.read(SHARD), text("first "), "a newly opened file")
      check((await append.open(SHARD, text("x"))) === null, "open must return null for a name that is open")
      check((await folder.create(SHARD, text("x"))) === "exists", "create must not overwrite a name that is open")
      await file.write(text("kept"))
      await file.close()
      check((await append.open(SHARD, text("x"))) === null, "open must return null for a name that was closed")
      checkBytes(await folder.read(SHARD), text("first kept"), "a file that others tried to open and create")
      await folder.create("created", text("whole"))
      check((await append.open("created", text("x"))) === null, "open must return null for a name made by create")
      checkBytes(await folder.read("created"), text("whole"), "a created file that another caller tried to open")
      await folder.replace("replaced", text("whole"))
      check((await append.open("replaced", text("x"))) === null, "open must return null for a name made by replace")
    },
  },
  {
    name: "exactly one of many concurrent opens and creates of a name succeeds",
    needs: "append",
    async run(store) {
      for (let round = 0; round < 5; round++) {
        const name = `00000${round}.jsonl`
        const tries = Array.from({ length: 8 }, async (_, index) => {
          const { folder, append } = appendingFolder(store)
          if (index % 2 === 0) return (await folder.create(name, text("created"))) === "created"
          const file = await append.open(name, text("opened"))
          await file?.close()
          return file !== null
        })
        const winners = (await Promise.all(tries)).filter(Boolean).length
        check(winners === 1, `${winners} of 8 concurrent opens and creates of one name succeeded`)
      }
    },
  },
  {
    name: "appends are stored in order and readable as soon as they resolve",
    needs: "append",
    async run(store) {
      const { append } = appendingFolder(store)
      const file = await opened(append, SHARD)
      let expected = new Uint8Array()
      for (const length of [1, 700, 0, 65_536, 3, 1_048_576, 20]) {
        const bytes = noise(length, length)
        const given = bytes.slice()
        await file.write(given)
        given.fill(0)
        // Safe: the joined bytes are in a buffer of their own.
        expected = concatBytes([expected, bytes]) as Uint8Array<ArrayBuffer>
        checkBytes(await store.folder(RUN).read(SHARD), expected, `a file after an append of ${length} bytes`)
      }
      await file.close()
      checkBytes(await store.folder(RUN).read(SHARD), expected, "a closed file")
    },
  },
  {
    name: "an opened name is never visible without its first bytes",
    needs: "append",
    async run(store) {
      for (let round = 0; round < 20; round++) {
        const name = `${String(round).padStart(6, "0")}.jsonl`
        const { folder, append } = appendingFolder(store)
        const opening = opened(append, name, "first")
        let seen: Uint8Array | null = null
        while (seen === null) seen = await folder.read(name)
        checkBytes(seen, text("first"), "a file that just became visible")
        await (await opening).close()
      }
    },
  },
  {
    name: "an open file reports whether it still exists under its name",
    needs: "append",
    async run(store) {
      const { folder, append } = appendingFolder(store)
      const file = await opened(append, SHARD)
      check(await file.stands(), "stands must return true for a newly opened file")
      await file.write(text("bytes"))
      check(await file.stands(), "stands must return true for a file that was written to")
      await folder.delete(SHARD)
      check(!(await file.stands()), "stands must return false for a deleted file")
      await folder.create(SHARD, text("another"))
      check(!(await file.stands()), "stands must return false if another file has the name")
      await file.close()
    },
  },
  {
    name: "files open at the same time are independent, even with the same name in two folders",
    needs: "append",
    async run(store) {
      const paths = ["tenants/acme", "tenants/acme-2"]
      const files = await Promise.all(paths.map((path) => opened(appendingFolder(store, path).append, SHARD)))
      for (let round = 0; round < 3; round++) {
        for (const [index, file] of files.entries()) await file.write(text(`${index}${round} `))
      }
      for (const file of files) await file.close()
      checkBytes(await store.folder("tenants/acme").read(SHARD), text("00 01 02 "), "the first folder's file")
      checkBytes(await store.folder("tenants/acme-2").read(SHARD), text("10 11 12 "), "the second folder's file")
    },
  },
  {
    name: "any caller can sync bytes written by another, whether the file is open or closed",
    needs: "append",
    async run(store) {
      const { append } = appendingFolder(store)
      const file = await opened(append, SHARD)
      await file.write(text("bytes"))
      const other = appendingFolder(store)
      await other.append.sync(SHARD)
      await other.append.syncFolder()
      await file.close()
      await other.append.sync(SHARD)
      await other.folder.create("created", text("whole"))
      await append.sync("created")
      await append.syncFolder()
      checkBytes(await other.folder.read(SHARD), text("bytes"), "a file after syncs")
    },
  },
]

const RUN = "runs/one"
const SHARD = "000000.jsonl"
const INBOX = "inbox/000000.json"

function createsOnce(name: string): StoreCase {
  return {
    name: `create is create-only and whole: ${name}`,
    async run(store) {
      const folder = store.folder(RUN)
      check((await folder.create(name, text("first"))) === "created", `create of a free name must return "created"`)
      for (const second of ["second", "first", ""]) {
        const answer = await folder.create(name, text(second))
        check(answer === "exists", `create of a taken name must return "exists", not "${answer}"`)
        checkBytes(await folder.read(name), text("first"), `${name} after a second create`)
      }
      check(await folder.exists(name), `exists must return true for ${name}`)
    },
  }
}

function check(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(promise)
}

function checkBytes(found: Uint8Array | null, expected: Uint8Array | undefined, what: string): void {
  check(found !== null && expected !== undefined, `${what} must be readable`)
  const same = equalBytes(found, expected)
  check(
    same,
    `${what} must contain exactly the ${expected.length} bytes written, found ${found.length} different bytes`,
  )
}

function checkNames(found: readonly string[], expected: readonly string[], what: string): void {
  check(found.join() === expected.join(), `${what} must be [${expected.join()}], found [${found.join()}]`)
}

function appendingFolder(store: Store, path = RUN): { folder: Folder; append: Appending } {
  const folder = store.folder(path)
  check(folder.append !== undefined, "a store that supports appending must support it in every folder")
  return { folder, append: folder.append }
}

async function opened(append: Appending, name: string, first = ""): Promise<AppendFile> {
  const file = await append.open(name, text(first))
  check(file !== null, `open of the free name ${name} must create it`)
  return file
}

function text(value: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(value)
}

/** Bytes of every value, including zero and line feed, the same for the same seed. */
function noise(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  let state = (seed + 1) * 0x9e3779b1
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    bytes[index] = state >>> 24
  }
  return bytes
}
