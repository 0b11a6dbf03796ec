import { expect, test } from "vitest"
import { ReadWriteLock } from "./read-write-lock.ts"

/** Runs pieces of work through a lock and records which of them ran concurrently. */
async function overlap(kinds: readonly ("shared" | "exclusive")[]): Promise<string[]> {
  const lock = new ReadWriteLock()
  const inside = new Set<number>()
  const seen: string[] = []
  await Promise.all(
    kinds.map(async (kind, index) => {
      await lock.enter(kind === "shared")
      inside.add(index)
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(`${index}:${[...inside].sort().join("")}`)
      inside.delete(index)
      lock.leave()
    }),
  )
  return seen
}

test("shared work runs in parallel", async () => {
  expect(await overlap(["shared", "shared", "shared"])).toEqual(["0:012", "1:12", "2:2"])
})

test("exclusive work runs alone, in order", async () => {
  expect(await overlap(["exclusive", "exclusive"])).toEqual(["0:0", "1:1"])
})

test("exclusive work waits for earlier work, and later work waits for it", async () => {
  expect(await overlap(["shared", "shared", "exclusive", "shared"])).toEqual(["0:01", "1:1", "2:2", "3:3"])
})
