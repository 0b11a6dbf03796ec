import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createRuntime } from "../src/index.ts"
import { takeRun } from "../src/journal/journal.ts"
import { runPath } from "../src/journal/paths.ts"
import { memoryStore } from "../src/stores/memory.ts"

const whole = readFileSync(new URL("../src/journal/__fixtures__/v1/000000.jsonl", import.meta.url))
const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1
const key = { workspaceId: "default", runId: "fixture", nodeId: "main" }

async function storeWith(bytes: Uint8Array) {
  const store = memoryStore()
  await store.folder(runPath(key)).create("000000.jsonl", bytes)
  return store
}

test("a journal whose last line is cut at any byte loads with a warning, for readers and for the next owner", async () => {
  for (let cut = lastLine + 1; cut < whole.length; cut++) {
    const store = await storeWith(whole.subarray(0, cut))
    const seen = await createRuntime({ store }).status("fixture")
    expect(seen, `cut at ${cut}`).toMatchObject({ status: "running", warnings: [{ code: "journal_tail_unfinished" }] })
    const owned: string[] = []
    await takeRun(store.folder(runPath(key)), {
      first: () => [],
      acknowledged: (records) => owned.push(...records.map((record) => ("code" in record ? record.code : record.type))),
    })
    expect(owned, `cut at ${cut}`).toEqual(["journal_tail_dropped"])
  }
})

test("a complete journal, or one cut between two flushes, loads without a warning", async () => {
  expect(await createRuntime({ store: await storeWith(whole) }).status("fixture")).toMatchObject({
    status: "done",
    warnings: [],
  })
})

test("a damaged line that a header counts is a typed error, for readers and for the next owner", async () => {
  const damaged = Uint8Array.from(whole)
  damaged[700] = (damaged[700] as number) ^ 1
  const store = await storeWith(damaged)
  await expect(createRuntime({ store }).status("fixture")).rejects.toMatchObject({ code: "storage", retryable: false })
  await expect(takeRun(store.folder(runPath(key)), { first: () => [] })).rejects.toMatchObject({ code: "storage" })
})
