import { mkdtempSync, rmSync, statSync, truncateSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { RunSummary } from "../src/contract/run.ts"
import type { Folder, Store } from "../src/contract/store.ts"
import { fsStore } from "../src/hosts/node/store/fs-store.ts"
import { LonghaulError } from "../src/index.ts"
import { entryName, parseEntry } from "../src/journal/index-entries.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { hangingPay, INDEX, listByReading, PROJECTS, paged, runtimeOver, wait } from "./run-index/world.ts"
import { laterMillisecond, until } from "./support/watchdog.ts"

const ids = (runs: readonly RunSummary[]) => runs.map(({ runId }) => runId)

/** A store that records which journals were read, and whose operations can be made to fail. */
function watched(inner: Store, breaks: (operation: string, path: string) => boolean = () => false) {
  const journals = new Set<string>()
  const folder = (path: string): Folder => {
    const inside = inner.folder(path)
    const unless = <T>(operation: string, work: () => Promise<T>): Promise<T> =>
      breaks(operation, path) ? Promise.reject(new LonghaulError("storage", "No room.")) : work()
    return {
      ...inside,
      read(name) {
        if (name.endsWith(".jsonl")) journals.add(path)
        return inside.read(name)
      },
      create: (name, bytes) => unless("create", () => inside.create(name, bytes)),
      replace: (name, bytes) => unless("replace", () => inside.replace(name, bytes)),
      delete: (name) => unless("delete", () => inside.delete(name)),
    }
  }
  return { store: { ...inner, folder } as Store, journals }
}

async function entriesOf(store: Store, runId: string): Promise<string[]> {
  return (await store.list(INDEX)).filter((name) => parseEntry(name)?.runId === runId)
}

test("an index entry without a run is not listed, and is deleted after an hour", async () => {
  const store = memoryStore()
  const folder = store.folder(INDEX)
  const begun = (runId: string, startedAt: number) => entryName({ kind: "begun", runId, nodeId: "main", startedAt })
  await folder.create(begun("just-now", Date.now()), new Uint8Array())
  await folder.create(begun("long-ago", Date.now() - 3_700_000), new Uint8Array())
  const runtime = runtimeOver(store)
  await runtime.run({ task: "done", runId: "real" })
  expect(ids(await runtime.runs())).toEqual(["real"])
  expect(await entriesOf(store, "just-now")).toHaveLength(1)
  expect(await entriesOf(store, "long-ago")).toEqual([])
  expect(ids(await runtime.runs({ status: "running" }))).toEqual([])
})

test("a run whose index entry cannot be written completes, is listed, and gets its entry from a later listing", async () => {
  const inner = memoryStore()
  let full = true
  const { store } = watched(inner, (_, path) => full && path === INDEX)
  const warnings: string[] = []
  const runtime = runtimeOver(store, { logger: { warn: (message) => warnings.push(message) } })
  expect(await runtime.run({ task: "done", runId: "r" })).toMatchObject({ status: "done" })
  expect(warnings).toContain("The index of runs could not be written; a later listing will repair it.")
  expect(await runtime.runs()).toMatchObject([{ runId: "r", status: "done" }])
  expect(await inner.list(INDEX)).toEqual([])
  full = false
  expect(await runtime.runs()).toMatchObject([{ runId: "r", status: "done" }])
  expect((await entriesOf(inner, "r")).map((name) => parseEntry(name))).toMatchObject([
    { kind: "released", status: "done" },
  ])
})

test("a run whose process died after its end and before its index entry is listed as ended", async () => {
  const inner = memoryStore()
  const { store } = watched(inner, (operation, path) => path === INDEX && operation !== "create")
  await runtimeOver(store).run({ task: "done", runId: "r" })
  expect((await entriesOf(inner, "r")).map((name) => parseEntry(name)?.kind)).toEqual([])
  const runtime = runtimeOver(inner)
  expect(await runtime.runs({ status: "running" })).toEqual([])
  expect(await runtime.recoverOrphanedRuns({ staleMs: 0 })).toEqual([])
  expect(ids(await runtime.runs({ status: "done" }))).toEqual(["r"])
})

test("a late index entry of a former owner does not hide the run from lists or recovery", async () => {
  const store = memoryStore()
  await runtimeOver(store).run({ task: "ask", runId: "r" })
  const [late = ""] = await entriesOf(store, "r")
  const content = (await store.folder(INDEX).read(late)) ?? new Uint8Array()
  let began = () => {}
  const underWay = new Promise<void>((resolve) => {
    began = resolve
  })
  const live = runtimeOver(store, { tools: [hangingPay(() => began()), wait] })
  await live.resumeAsync({ runId: "r", decision: "approve" })
  await underWay
  const reader = runtimeOver(store)
  const restore = async () => {
    for (const name of await entriesOf(store, "r")) await store.folder(INDEX).delete(name)
    await store.folder(INDEX).replace(late, content)
  }
  await restore()
  expect(await reader.runs({ status: "running" })).toMatchObject([{ runId: "r" }])
  await restore()
  expect(await reader.runs({ status: "paused" })).toEqual([])
  await restore()
  expect(await reader.recoverOrphanedRuns({ staleMs: 0 })).toEqual([{ runId: "r", nodeId: "main" }])
  await live.close()
  expect(await reader.runs()).toMatchObject([{ runId: "r", status: "failed" }])
})

test("a run id that several processes start at the same time runs once and is listed once", async () => {
  for (let round = 0; round < 10; round++) {
    const store = memoryStore()
    const hosts = [runtimeOver(store), runtimeOver(store), runtimeOver(store)]
    const results = await Promise.all(hosts.map((host) => host.run({ task: "done", runId: "same" })))
    expect(results.filter(({ status }) => status === "done")).toHaveLength(1)
    expect(await runtimeOver(store).runs()).toEqual(await listByReading(store))
    // The second list uses the index entries only.
    expect(await runtimeOver(store).runs({ status: "done" })).toEqual(await listByReading(store))
  }
})

test("an index entry with a time other than the journal's is corrected, and the run is listed at its position", async () => {
  const store = memoryStore()
  const runtime = runtimeOver(store)
  for (const runId of ["a", "b", "c"]) {
    await runtime.run({ task: "done", runId })
    await laterMillisecond()
  }
  const folder = store.folder(INDEX)
  for (const name of await entriesOf(store, "a")) await folder.delete(name)
  await folder.create(
    entryName({ kind: "begun", runId: "a", nodeId: "main", startedAt: Date.now() + 1000 }),
    new Uint8Array(),
  )
  expect(ids(await runtime.runs({ limit: 2 }))).toEqual(["c", "b"])
  expect(ids(await runtime.runs())).toEqual(["c", "b", "a"])
})

test("a run with two index entries of different times is listed by the time in its journal", async () => {
  const store = memoryStore()
  const runtime = runtimeOver(store)
  for (const runId of ["a", "b", "c"]) {
    await runtime.run({ task: "done", runId })
    await laterMillisecond()
  }
  const wrong = entryName({ kind: "begun", runId: "c", nodeId: "main", startedAt: 1 })
  await store.folder(INDEX).create(wrong, new Uint8Array())
  expect(ids(await runtime.runs({ limit: 1 }))).toEqual(["c"])
  expect(await entriesOf(store, "c")).not.toContain(wrong)
})

test("an index entry is ignored if the journal became shorter", async () => {
  const root = mkdtempSync(join(tmpdir(), "longhaul-run-index-"))
  const store = fsStore(root)
  const { transcript } = await runtimeOver(store).run({ task: "done", runId: "r" })
  const shard = join(transcript.path, "000000.jsonl")
  truncateSync(shard, statSync(shard).size - 10)
  expect(await runtimeOver(store).runs()).toEqual(await listByReading(store))
  expect(await runtimeOver(store).runs({ limit: 1 })).toMatchObject([{ status: "running" }])
  rmSync(root, { recursive: true })
})

test("an ended run with a pending webhook delivery is found until the delivery succeeds", async () => {
  const inner = memoryStore()
  for (let number = 0; number < 5; number++) await runtimeOver(inner).run({ task: "done" })
  const secrets = { HOOK: `whsec_${"a".repeat(43)}=` }
  let status = 503
  const fetch = async () => new Response(null, { status })
  const webhook = { url: "https://hooks.example/x", secretRef: "HOOK" }
  const first = runtimeOver(inner, { secrets, fetch })
  await first.start({ task: "done", runId: "owes", webhook })
  await first.waitFor("owes")
  await first.close()
  const kinds = async () => (await entriesOf(inner, "owes")).map((name) => parseEntry(name))
  expect(await kinds()).toMatchObject([{ kind: "released", status: "done", owes: true }])
  status = 204
  const { store, journals } = watched(inner)
  const later = runtimeOver(store, { secrets, fetch })
  expect(await later.deliverWebhooks()).toEqual([{ runId: "owes", nodeId: "main" }])
  await later.retryWebhook("owes")
  await until(async () => (await later.webhookDeliveries("owes")).every((each) => each.status === "delivered"))
  await later.close()
  expect([...journals].map((path) => path.split("/").at(-3))).toEqual(["owes"])
  expect(await kinds()).toMatchObject([{ kind: "released", status: "done", owes: false }])
  journals.clear()
  expect(await runtimeOver(store, { secrets, fetch }).deliverWebhooks()).toEqual([])
  expect([...journals]).toEqual([])
})

test("runs of an older version, including runs with several nodes, are listed and read only once", async () => {
  const inner = memoryStore()
  const runtime = runtimeOver(inner)
  for (const task of ["done", "fail", "ask"]) await runtime.run({ task, runId: task })
  await runtime.continue("done", "ask")
  await runtime.run({ task: "done", runId: "other", nodeId: "only" })
  await runtime.run({ task: "done", runId: "removed" })
  await runtime.remove("removed")
  for (const name of await inner.list(INDEX)) await inner.folder(INDEX).delete(name)
  for (const name of await inner.list(PROJECTS)) if (name.includes("~")) await inner.folder(PROJECTS).delete(name)
  const expected = await listByReading(inner)
  expect(expected).toHaveLength(5)
  const { store, journals } = watched(inner)
  const later = runtimeOver(store)
  expect(await later.runs({ status: "paused" })).toEqual(expected.filter(({ status }) => status === "paused"))
  journals.clear()
  expect(await later.runs()).toEqual(expected)
  expect(await paged(later, 2)).toEqual(expected)
  expect([...journals].filter((path) => !path.includes("/other/"))).toEqual([])
})

test("recovery and webhook delivery read only the journals of runs that have not ended", async () => {
  const inner = memoryStore()
  const runtime = runtimeOver(inner)
  for (let number = 0; number < 20; number++) await runtime.run({ task: number % 2 ? "done" : "fail" })
  await runtime.run({ task: "ask", runId: "waits" })
  await runtime.start({ task: "hang", runId: "hangs" })
  const { store, journals } = watched(inner)
  const later = runtimeOver(store)
  expect(await later.deliverWebhooks()).toEqual([])
  await later.recoverOrphanedRuns({ staleMs: 0 })
  expect([...journals].map((path) => path.split("/").at(-3))).toEqual(["hangs"])
  await runtime.close()
})

test("a removed run stays removed when its old index entries are restored", async () => {
  const store = memoryStore()
  const runtime = runtimeOver(store)
  await runtime.run({ task: "ask", runId: "r" })
  const kept = new Map<string, Uint8Array>()
  const keep = async () => {
    for (const name of await entriesOf(store, "r"))
      kept.set(name, (await store.folder(INDEX).read(name)) ?? new Uint8Array())
  }
  await keep()
  await runtime.resume({ runId: "r", decision: "approve" })
  await keep()
  await runtime.remove("r")
  expect((await entriesOf(store, "r")).map((name) => parseEntry(name)?.kind)).toEqual(["removed"])
  for (const name of await entriesOf(store, "r")) await store.folder(INDEX).delete(name)
  for (const [name, bytes] of kept) await store.folder(INDEX).replace(name, bytes)
  for (const status of ["paused", "done", undefined] as const) {
    expect(await runtime.runs(status && { status })).toEqual([])
  }
})

test("a store that ignores the requested part of a listing gives the same lists", async () => {
  const inner = memoryStore()
  const store: Store = {
    ...inner,
    list: (path) => inner.list(path),
    folder(path) {
      const { append: _, ...rest } = inner.folder(path)
      return rest
    },
  }
  const runtime = runtimeOver(store)
  for (const task of ["done", "ask", "fail"]) await runtime.run({ task, runId: task })
  await runtime.resume({ runId: "ask", decision: "approve" })
  expect(await paged(runtime, 2)).toEqual(await listByReading(store))
  expect(await runtime.runs()).toEqual(await listByReading(store))
})

test("a page can start after a run id, or after a summary whose run was removed since", async () => {
  const store = memoryStore()
  const runtime = runtimeOver(store)
  for (const runId of ["a", "b", "c", "d"]) {
    await runtime.run({ task: "done", runId })
    await laterMillisecond()
  }
  expect(ids(await runtime.runs({ before: "c" }))).toEqual(["b", "a"])
  expect(ids(await runtime.runs({ before: "c", limit: 1 }))).toEqual(["b"])
  expect(ids(await runtime.runs({ before: "none" }))).toEqual(["d", "c", "b", "a"])
  const [, last] = await runtime.runs({ limit: 2 })
  await runtime.remove("c")
  expect(ids(await runtime.runs(last && { before: last }))).toEqual(["b", "a"])
})
