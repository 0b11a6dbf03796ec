import { expect, test } from "vitest"
import { LonghaulError } from "../contract/error.ts"
import type { Store } from "../contract/store.ts"
import { createRuntime } from "../index.ts"
import type { ReleasedEntry } from "../journal/index-entries.ts"
import { memoryStore } from "../stores/memory.ts"
import { scriptedModel } from "../testing/index.ts"
import { SurveyedNode } from "./survey.ts"

const key = { workspaceId: "default", runId: "r", nodeId: "main" }
const released = (shards: number, owes = false): ReleasedEntry => ({
  ...{ kind: "released", runId: "r", nodeId: "main", startedAt: 1, shards, status: "paused", owes },
})

test("a run that was taken again after its release counts as open, one that was released again as released", () => {
  const node = new SurveyedNode(key)
  node.add("a", released(2))
  expect([node.released?.shards, node.isOpen]).toEqual([2, false])
  node.taken = 2
  expect([node.released, node.isOpen]).toEqual([undefined, true])
  node.add("b", released(3))
  expect([node.released?.shards, node.isOpen]).toEqual([3, false])
})

test("of two entries of one release, the one with pending deliveries counts, whatever their order", () => {
  for (const order of [
    [true, false],
    [false, true],
  ]) {
    const node = new SurveyedNode(key)
    for (const owes of order) node.add(String(owes), released(2, owes))
    expect(node.released?.owes).toBe(true)
  }
})

test("a run whose take cannot be marked is not taken", async () => {
  const inner = memoryStore()
  let isFull = false
  const store: Store = {
    ...inner,
    folder(path) {
      const folder = inner.folder(path)
      if (!path.endsWith("/projects")) return folder
      return {
        ...folder,
        async create(name, bytes) {
          if (isFull) throw new LonghaulError("storage", "The disk is full.")
          return folder.create(name, bytes)
        },
      }
    },
  }
  const failing = createRuntime({
    store,
    model: scriptedModel([{ fail: new LonghaulError("auth", "no") }, "never asked"]),
  })
  const failed = await failing.run({ runId: "s", task: "x" })
  const shards = await inner.list(failed.transcript.path.replace("memory:", ""))
  isFull = true
  expect((await failing.resume({ runId: "s" })).error?.code).toBe("storage")
  expect(await inner.list(failed.transcript.path.replace("memory:", ""))).toEqual(shards)
})
