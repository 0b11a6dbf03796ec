import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { LonghaulError } from "../contract/error.ts"
import type { Folder } from "../contract/store.ts"
import { memoryStore } from "../stores/memory.ts"
import { createOwn } from "./create-own.ts"

const bytes = new TextEncoder().encode("ours")

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** How creating a file in a folder with these changes ends, and how often it was tried. */
async function ended(change: (folder: Folder) => Partial<Pick<Folder, "create" | "read">>) {
  const folder = memoryStore().folder("runs/r")
  let tries = 0
  const changed = { ...folder, ...change(folder) }
  const create: Folder["create"] = (name, given) => {
    tries++
    return changed.create(name, given)
  }
  const end = createOwn({ ...changed, create }, "shard", bytes).catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  return { end: await end, tries, found: await folder.read("shard") }
}

test("a file that exists and can never be read is storage after six tries, and not waited for without end", async () => {
  const { end, tries } = await ended(() => ({ create: async () => "exists", read: async () => null }))
  expect(end).toMatchObject({ code: "storage", fix: expect.stringContaining("permissions") })
  expect(tries).toBe(6)
})

test("a file whose creation answered with a lost response is ours if it has these bytes", async () => {
  let isLost = true
  const { end, tries, found } = await ended(({ create }) => ({
    async create(name, given) {
      const answer = await create(name, given)
      if (!isLost) return answer
      isLost = false
      throw new LonghaulError("storage", "The response was lost.", { retryable: true })
    },
  }))
  expect({ end, tries, found }).toEqual({ end: true, tries: 2, found: bytes })
})

test("a file that another process created is not ours", async () => {
  const theirs = new TextEncoder().encode("theirs")
  const { end, tries } = await ended(() => ({ create: async () => "exists", read: async () => theirs }))
  expect({ end, tries }).toEqual({ end: false, tries: 1 })
})

test("a failure that cannot pass is thrown at once, and one that may pass after six tries", async () => {
  for (const [retryable, expected] of [
    [false, 1],
    [true, 6],
  ] as const) {
    const failure = new LonghaulError("storage", "It failed.", { retryable })
    const { end, tries } = await ended(() => ({ create: () => Promise.reject(failure) }))
    expect({ end, tries }).toEqual({ end: failure, tries: expected })
  }
})
