import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { call, note, opening, scene } from "../../test/support/scene.ts"
import type { Folder } from "../contract/store.ts"
import { memoryStore } from "../stores/memory.ts"
import { FlushLines } from "./flush-lines.ts"
import { takeRun } from "./journal.ts"
import { Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import { createReader, readRow } from "./reader.ts"
import { claimOf, scanShard } from "./shard.ts"

const messages = (records: readonly { type: string }[]) =>
  records.map((record) => ("message" in record ? String(record.message) : record.type))

describe("a shard names its creator as soon as it exists", () => {
  const take = (folder: Folder, name: string) => takeRun(folder, { owner: { name }, first: opening })

  test.each(["read", "sync", "sync-folder", "write", "write-half", "write-sync"] as const)(
    "the shard names its creator even if the creator stops before its %s",
    async (kind) => {
      const stage = scene()
      await take(stage.folder("A"), "A")
      const stopped = stage.hold("B", kind)
      take(stage.folder("B"), "B").catch(() => {})
      await stopped.reached
      const { top, taking, row } = await readRow(stage.folder("C"))
      expect(top).toBe(1)
      // The shard has a header once all of its bytes are visible.
      if (kind === "write-sync") expect({ taking, owner: row?.owner }).toEqual({ owner: { name: "B" } })
      else expect(taking?.claim?.owner).toEqual({ name: "B" })
      if (kind !== "write-sync") expect(row).toMatchObject({ takeoverPending: true, owner: { name: "A" } })
    },
  )

  test("the shard names its creator when an owner moves to its next shard", async () => {
    const stage = scene()
    const journal = await take(stage.folder("A"), "A")
    stage.fail("A", "write-half")
    const stopped = stage.hold("A", "sync-folder")
    journal.append(note("again"))
    journal.flush().catch(() => {})
    await stopped.reached
    expect((await readRow(stage.folder("C"))).taking?.claim?.owner).toEqual({ name: "A" })
  })

  test("the first shard of a run names its creator", async () => {
    const stage = scene()
    const stopped = stage.hold("A", "sync-folder")
    take(stage.folder("A"), "A").catch(() => {})
    await stopped.reached
    expect(await readRow(stage.folder("C"))).toMatchObject({
      top: 0,
      taking: { claim: { owner: { name: "A" } } },
      row: null,
    })
  })

  test("a shard whose bytes were lost in a power failure names no creator", async () => {
    const stage = scene()
    await take(stage.folder("A"), "A")
    const stopped = stage.hold("B", "write")
    take(stage.folder("B"), "B").catch(() => {})
    await stopped.reached
    stage.disk.losePower((what) => what === "name")
    expect((await readRow(stage.folder("C"))).taking).toEqual({ claim: null })
    await take(stage.folder("C"), "C")
    expect(messages(await stage.history())).toEqual(["start", "run-resume"])
  })

  test("a run whose top shard has a header is not being taken", async () => {
    const stage = scene()
    await take(stage.folder("A"), "A")
    expect(await readRow(stage.folder("C"))).not.toHaveProperty("taking")
  })

  test("an owner that could not write its header learns which shard it left behind", async () => {
    const stage = scene()
    await take(stage.folder("A"), "A")
    const left: number[] = []
    stage.fail("B", "write")
    stage.fail("B", "write")
    const taking = takeRun(stage.folder("B"), { first: opening, abandoned: (shard) => left.push(shard) })
    await expect(taking).rejects.toThrow("EIO")
    expect(left).toEqual([2])
  })
})

describe("a claim before the header of its shard", () => {
  const ownership = new Ownership({ name: "A" })
  const base = { shard: 3, bytes: 70 }

  function shard(): { readonly bytes: Uint8Array; readonly claim: Uint8Array } {
    const flush = new FlushLines()
    flush.add('{"seq":4}')
    flush.add('{"seq":5}')
    return { bytes: flush.sealed(0, ownership.claimedHeader(base)), claim: ownership.claim }
  }

  test("the claim is the first part of the first flush", () => {
    const { bytes, claim } = shard()
    expect(bytes.subarray(0, claim.length)).toEqual(claim)
    expect(scanShard(bytes)).toMatchObject({
      header: { v: 2, base, owner: { name: "A" } },
      lines: [{ seq: 4 }, { seq: 5 }],
    })
  })

  test("the claim is readable once its line is complete, and the shard is void until its first flush is complete", () => {
    const { bytes, claim } = shard()
    for (let cut = 0; cut < bytes.length; cut++) {
      const part = bytes.subarray(0, cut)
      expect(claimOf(part)?.owner, `cut at ${cut}`).toEqual(cut < claim.length ? undefined : { name: "A" })
      expect(scanShard(part)).toMatchObject({ header: null, lines: [], validBytes: 0, damaged: false })
    }
  })

  test("an altered claim invalidates the flush", () => {
    const { bytes, claim } = shard()
    for (let at = 0; at < claim.length; at++) {
      const altered = bytes.slice()
      altered[at] = (altered[at] as number) ^ 1
      expect(scanShard(altered).header, `byte ${at}`).toBeNull()
    }
  })

  test.each(["", "\0\0\0\n", "{}\n", "null\n", '{"v":2}\n', "[1]\n"])("%j is not a claim", (text) => {
    expect(claimOf(new TextEncoder().encode(text))).toBeNull()
  })
})

describe("a run with shards of version 1", () => {
  const fixture = readFileSync(new URL("./__fixtures__/v1/000000.jsonl", import.meta.url))

  test("a version 1 run continues in current shards and is read as one history", async () => {
    const folder = memoryStore().folder("run")
    await folder.create(shardName(0), fixture)
    const before = await createReader(folder).next()
    const journal = await takeRun(folder, { first: () => [note("on")] })
    await journal.release()
    expect(await createReader(folder).next()).toMatchObject([...before, { type: "warning", seq: before.length }])
  })

  test("a version 1 run with an empty top shard continues after it", async () => {
    const folder = memoryStore().folder("run")
    await folder.create(shardName(0), fixture)
    await folder.append?.open(shardName(1), new Uint8Array())
    expect((await readRow(folder)).taking).toEqual({ claim: null })
    const journal = await takeRun(folder, { first: () => [note("on")] })
    expect(journal.shard).toBe(2)
    expect(messages(await createReader(folder).next())).toContain("on")
  })
})

describe("a shard deleted while its owner writes", () => {
  test("after its shard is deleted, an owner acknowledges nothing more and continues nothing", async () => {
    const stage = scene()
    const a = await stage.take("A")
    await stage.folder("B").delete(shardName(0))
    for (const body of call("1")) a.journal.append(body)
    const vanished = expect.objectContaining({ code: "storage", retryable: false })
    await expect(a.journal.flush()).rejects.toEqual(vanished)
    await expect(a.journal.flush()).rejects.toEqual(vanished)
    expect(a.acknowledged).toHaveLength(1)
    expect(stage.disk.bytes(shardName(1))).toBeUndefined()
  })

  test("after its shard is replaced by an older copy, an owner acknowledges nothing more", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const older = (stage.disk.bytes(shardName(0)) as Uint8Array).slice()
    a.journal.append(note("since then"))
    await a.journal.flush()
    await stage.folder("B").delete(shardName(0))
    await stage.folder("B").create(shardName(0), older)
    a.journal.append(note("never"))
    await expect(a.journal.flush()).rejects.toMatchObject({ code: "storage" })
    await expect(a.journal.flush()).rejects.toMatchObject({ code: "storage" })
    expect(messages(await stage.history())).toEqual(["start"])
  })

  test("deletion of the shard by the process that took the run fences the old owner", async () => {
    const stage = scene()
    const a = await stage.take("A")
    await stage.take("B")
    await stage.folder("B").delete(shardName(0))
    a.journal.append(note("late"))
    await expect(a.journal.flush()).rejects.toMatchObject({ code: "fenced" })
  })
})
