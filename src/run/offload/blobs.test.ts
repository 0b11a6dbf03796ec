import { expect, test } from "vitest"
import { memoryStore } from "../../stores/memory.ts"
import { copyBlob, readBlob, storeBlob } from "./blobs.ts"

test.each([
  "../../000000.jsonl",
  "..",
  ".",
  "a/b",
  "/etc/passwd",
  "%2e%2e%2fa",
  "a\0b",
  "a\\b",
  "",
  "~1",
  "1.0~1",
  "x".repeat(500),
  "..a",
  "a..b",
  "ｆｕｌｌ",
])("a result of a call whose id is %j is stored below toolResults and found again", async (callId) => {
  const store = memoryStore()
  const folder = store.folder("run")
  expect(await storeBlob(folder, { callId, tool: "t", text: "one" })).toBe(0)
  const [name = "", ...others] = await store.list("run/toolResults")
  expect(others).toEqual([])
  expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}\.json$/)
  expect(await store.list("run")).toEqual(["toolResults"])
  expect(await readBlob(folder, callId, 0)).toBe("one")
})

test("ids that differ only in forbidden characters have different files", async () => {
  const folder = memoryStore().folder("run")
  for (const callId of ["a/b", "a\\b", "a b"]) await storeBlob(folder, { callId, tool: "t", text: callId })
  expect(await Promise.all(["a/b", "a\\b", "a b"].map((callId) => readBlob(folder, callId, 0)))).toEqual([
    "a/b",
    "a\\b",
    "a b",
  ])
})

test("each attempt with another text has its own file, and an equal one shares it", async () => {
  const folder = memoryStore().folder("run")
  const store = (text: string) => storeBlob(folder, { callId: "1.0", tool: "t", text })
  expect([await store("a"), await store("b"), await store("c"), await store("b")]).toEqual([0, 1, 2, 1])
  expect(await Promise.all([0, 1, 2, 3].map((attempt) => readBlob(folder, "1.0", attempt)))).toEqual([
    "a",
    "b",
    "c",
    undefined,
  ])
})

test("a file that is damaged or belongs to another call is not read", async () => {
  const folder = memoryStore().folder("run")
  const plant = (name: string, text: string) => folder.create(`toolResults/${name}`, new TextEncoder().encode(text))
  await plant("1.0.json", '{"v":1,"callId":"1.0","tool":"t","te')
  await plant("2.0.json", '{"v":1,"callId":"1.0","tool":"t","text":"other"}')
  await plant("3.0.json", "null")
  for (const callId of ["1.0", "2.0", "3.0", "4.0"]) expect(await readBlob(folder, callId, 0)).toBeUndefined()
  expect(await copyBlob(folder, memoryStore().folder("copy"), "4.0", 0)).toBeUndefined()
})
