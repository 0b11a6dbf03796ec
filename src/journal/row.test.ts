import { expect, test } from "vitest"
import { memoryStore } from "../stores/memory.ts"
import { shardName } from "./paths.ts"
import { readingAhead } from "./row.ts"

/** The shards that are read for a reader of the third one. */
async function readFor(canAppend: boolean): Promise<readonly string[]> {
  const read: string[] = []
  const { append, ...folder } = memoryStore().folder("f")
  const counted = {
    ...folder,
    async read(name: string) {
      read.push(name)
      return null
    },
  }
  await readingAhead(append && canAppend ? { ...counted, append } : counted).read(shardName(2))
  return read
}

test("shards below are read ahead where each flush is a file, and not where one shard may be a long file", async () => {
  expect(await readFor(false)).toEqual([2, 1, 0].map(shardName))
  expect(await readFor(true)).toEqual([shardName(2)])
})
