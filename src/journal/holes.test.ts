import { describe, expect, test, vi } from "vitest"
import { call, note, opening, receipt, scene, settle } from "../../test/support/scene.ts"
import type { Folder } from "../contract/store.ts"
import { FlushLines } from "./flush-lines.ts"
import { postMessage, readMessage } from "./inbox.ts"
import { takeRun } from "./journal.ts"
import { inboxName, shardName } from "./paths.ts"
import { createReader } from "./reader.ts"
import { scanShard } from "./shard.ts"

const fenced = expect.objectContaining({ code: "fenced" })
const messages = (records: readonly { type: string }[]) =>
  records.map((record) => ("message" in record ? String(record.message) : record.type))

describe("local disk: flaws of the first protocol draft", () => {
  test("F1: a flush that a successor did not read is not acknowledged", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const half = stage.hold("A", "write-half")
    a.journal.append(receipt("1"))
    const flushed = a.journal.flush()
    await half.reached
    const header = stage.hold("B", "write")
    const taking = stage.take("B")
    await header.reached
    half.release()
    await expect(flushed).rejects.toEqual(fenced)
    header.release()
    await taking
    expect(messages(await stage.history())).toEqual(["start", expect.stringContaining("dropped"), "run-resume"])
    expect(a.acknowledged).toHaveLength(1)
  })

  test("F1: a takeover between look and append is detected, because the look comes after", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const write = stage.hold("A", "write")
    a.journal.append(note("late"))
    const flushed = a.journal.flush()
    await write.reached
    await stage.take("B")
    write.release()
    await expect(flushed).rejects.toEqual(fenced)
    expect(messages(await stage.history())).toEqual(["start", "run-resume"])
  })

  test("F1: an owner whose flush took half a lease looks again before it acts", async () => {
    const stage = scene()
    const a = await stage.take("A")
    let now = 0
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now)
    try {
      const look = stage.hold("A", "exists")
      for (const body of call("1")) a.journal.append(body)
      const secured = a.journal.flush()
      await look.reached
      now = 30_000
      const again = stage.hold("A", "exists")
      look.release()
      await again.reached
      await stage.take("B")
      again.release()
      await expect(secured).rejects.toEqual(fenced)
    } finally {
      clock.mockRestore()
    }
  })

  test("F2: a header names the last shard with a header, so a void shard cannot hide a fenced owner's record", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const half = stage.hold("A", "write-half")
    a.journal.append(note("zombie"))
    const flushed = a.journal.flush()
    await half.reached
    const dead = stage.hold("B", "read")
    stage.take("B").catch(() => {})
    await dead.reached
    const c = await stage.take("C")
    expect(c.journal.shard).toBe(2)
    expect(scanShard(stage.disk.bytes(shardName(2)) as Uint8Array).header?.base?.shard).toBe(0)
    half.release()
    await expect(flushed).rejects.toEqual(fenced)
    expect(messages(await stage.history())).not.toContain("zombie")
  })

  test("F3: bytes counted by a header survive a power loss", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const unsynced = stage.hold("A", "write-sync")
    a.journal.append(note("counted"))
    a.journal.flush().catch(() => {})
    await unsynced.reached
    const b = await stage.take("B")
    expect(messages(b.history)).toEqual(["start", "counted"])
    stage.disk.losePower()
    expect(messages(await stage.history())).toEqual(["start", "counted", "run-resume"])
  })

  test("F3: a header is never durable before the bytes it counts", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const unsynced = stage.hold("A", "write-sync")
    a.journal.append(note("never acknowledged"))
    a.journal.flush().catch(() => {})
    await unsynced.reached
    const base = stage.hold("B", "sync")
    stage.take("B").catch(() => {})
    await base.reached
    stage.disk.losePower((what) => what === "name")
    await stage.take("C")
    expect(messages(await stage.history())).toEqual(["start", "run-resume"])
  })

  test("F3: a header is never durable before the name of the shard it counts", async () => {
    const stage = scene()
    const names = stage.hold("A", "sync-folder")
    stage.take("A").catch(() => {})
    await names.reached
    const late = stage.hold("B", "sync-folder")
    stage.take("B").catch(() => {})
    await late.reached
    stage.disk.losePower((what, file) => what === "bytes" || file === shardName(1))
    const c = await stage.take("C")
    expect(messages(await stage.history())).toEqual(["start"])
    expect(c.acknowledged).toHaveLength(1)
  })

  test("F3: acknowledged records and their file names survive a power loss", async () => {
    const stage = scene()
    const a = await stage.take("A")
    a.journal.append(note("kept"))
    await a.journal.flush()
    stage.disk.losePower()
    expect(messages(await stage.history())).toEqual(["start", "kept"])
  })

  test("F4: after a short write the owner never writes the shard again and moves to the next one", async () => {
    const stage = scene()
    const a = await stage.take("A")
    stage.fail("A", "write-half")
    for (const body of call("1")) a.journal.append(body)
    await a.journal.flush()
    expect(a.journal.shard).toBe(1)
    expect(stage.disk.steps.filter(({ kind, name }) => kind === "write" && name === shardName(0))).toHaveLength(2)
    const b = await stage.take("B")
    expect(b.history.map(({ type }) => type)).toContain("tool-intent")
    const results = (await stage.history()).filter(({ type }) => type === "tool-result")
    expect(results).toMatchObject([{ callId: "1", outcome: { status: "unknown" } }])
  })

  test("F4: after a failed sync no unacknowledged record counts twice, and the owner's running call is not flagged", async () => {
    const stage = scene()
    const a = await stage.take("A")
    for (const body of call("1")) a.journal.append(body)
    await a.journal.flush()
    stage.fail("A", "write-sync")
    a.journal.append(note("once"))
    await a.journal.flush()
    a.journal.append(receipt("1"))
    await a.journal.flush()
    const history = await stage.history()
    expect(messages(history).filter((message) => message === "once")).toHaveLength(1)
    expect(history.filter(({ type }) => type === "tool-result")).toMatchObject([{ outcome: { status: "ok" } }])
    expect(history.map(({ seq }) => seq)).toEqual(history.map((_, index) => index))
  })

  test("F4: an owner whose next shard was created by another process is fenced", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const failing = stage.hold("A", "write-half")
    a.journal.append(note("lost"))
    const flushed = a.journal.flush()
    await failing.reached
    await stage.take("B")
    stage.fail("A", "write-sync")
    failing.release()
    await expect(flushed).rejects.toEqual(fenced)
    expect(messages(await stage.history())).not.toContain("lost")
  })

  test("F4: on a full disk a flush fails with a typed error, acknowledges nothing, and succeeds once space is free", async () => {
    const stage = scene()
    const a = await stage.take("A")
    stage.fail("A", "write-half")
    stage.fail("A", "write-half")
    a.journal.append(note("later"))
    await expect(a.journal.flush()).rejects.toThrow("EIO")
    expect(a.acknowledged).toHaveLength(1)
    await a.journal.flush()
    expect(messages(await stage.history())).toEqual(["start", "later"])
  })

  test("F4: if the next shard cannot be created, the flush fails once with a typed error and succeeds later", async () => {
    const stage = scene()
    const a = await stage.take("A")
    stage.fail("A", "write-half")
    stage.fail("A", "open", new Error("ENOSPC"))
    a.journal.append(note("later"))
    await expect(a.journal.flush()).rejects.toThrow("ENOSPC")
    await a.journal.flush()
    expect(messages(await stage.history())).toEqual(["start", "later"])
  })

  test("F5: a reader publishes nothing that a concurrent takeover may cut", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const reader = createReader(stage.folder("reader"))
    const half = stage.hold("A", "write-half")
    a.journal.append(note("cut"))
    a.journal.flush().catch(() => {})
    await half.reached
    const header = stage.hold("B", "write")
    const taking = stage.take("B")
    await header.reached
    half.release()
    await settle()
    expect(messages(await reader.next())).toEqual(["start"])
    expect(reader.takeoverPending).toBe(true)
    header.release()
    await taking
    expect(messages(await reader.next())).toEqual([expect.stringContaining("dropped"), "run-resume"])
    expect(reader.takeoverPending).toBe(false)
  })

  test("F5: a reader looks after reading, so a takeover in between is detected", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const reader = createReader(stage.folder("reader"))
    const read = stage.hold("reader", "read")
    const reading = reader.next()
    await read.reached
    const half = stage.hold("A", "write-half")
    a.journal.append(note("cut"))
    const flushed = a.journal.flush()
    await half.reached
    const header = stage.hold("B", "write")
    const taking = stage.take("B")
    await header.reached
    half.release()
    await expect(flushed).rejects.toEqual(fenced)
    read.release()
    expect(messages(await reading)).toEqual(["start"])
    header.release()
    await taking
    expect(messages(await reader.next())).toEqual([expect.stringContaining("dropped"), "run-resume"])
  })

  test("F5: a reader that cannot sync its read publishes none of it", async () => {
    const stage = scene()
    await stage.take("A")
    const reader = createReader(stage.folder("reader"))
    stage.fail("reader", "sync")
    expect(await reader.next()).toEqual([])
    expect(reader.takeoverPending).toBe(true)
    expect(messages(await reader.next())).toEqual(["start"])
  })

  test("F5: during a takeover, records counted by a fenced owner's late header are not published", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const slow = stage.hold("B", "read")
    stage.take("B").catch(() => {})
    await slow.reached
    const write = stage.hold("A", "write")
    a.journal.append(note("cut"))
    a.journal.flush().catch(() => {})
    await write.reached
    const header = stage.hold("C", "write")
    const taking = stage.take("C")
    await header.reached
    write.release()
    await settle()
    slow.release()
    await settle()
    const published = await createReader(stage.folder("reader")).next()
    header.release()
    await taking
    expect(messages(await stage.history()).slice(0, published.length)).toEqual(messages(published))
  })

  test("F5: during a takeover a reader still publishes records that are certain to stay", async () => {
    const stage = scene()
    const a = await stage.take("A")
    a.journal.append(note("acknowledged"))
    await a.journal.flush()
    a.journal.append(note("newest"))
    await a.journal.flush()
    const dead = stage.hold("B", "read")
    stage.take("B").catch(() => {})
    await dead.reached
    const reader = createReader(stage.folder("reader"))
    expect(messages(await reader.next())).toEqual(["start", "acknowledged"])
    expect(reader.takeoverPending).toBe(true)
    await stage.take("C")
    expect(messages(await reader.next())).toEqual(["newest", "run-resume"])
  })

  test("F5: a reader publishes complete flushes only, each record once, across takeovers", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const reader = createReader(stage.folder("reader"))
    expect(messages(await reader.next())).toEqual(["start"])
    const half = stage.hold("A", "write-half")
    a.journal.append(note("one"))
    a.journal.append(note("two"))
    const flushed = a.journal.flush()
    await half.reached
    expect(await reader.next()).toEqual([])
    half.release()
    await flushed
    expect(messages(await reader.next())).toEqual(["one", "two"])
    await stage.take("B")
    expect(messages(await reader.next())).toEqual(["run-resume"])
    expect(await reader.next()).toEqual([])
  })

  test("F5: records published by a reader survive a power loss", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const unsynced = stage.hold("A", "write-sync")
    a.journal.append(note("seen"))
    a.journal.flush().catch(() => {})
    await unsynced.reached
    expect(messages(await createReader(stage.folder("reader")).next())).toEqual(["start", "seen"])
    stage.disk.losePower()
    expect(messages(await stage.history())).toEqual(["start", "seen"])
  })

  test("F6, F7, F8: an empty shard is never adopted, removed or reopened; its slow creator is fenced", async () => {
    const stage = scene()
    await stage.take("A")
    const slow = stage.hold("B", "write")
    const taking = stage.take("B")
    await slow.reached
    const c = await stage.take("C")
    expect(c.journal.shard).toBe(2)
    slow.release()
    await expect(taking).rejects.toEqual(fenced)
    const opened = stage.disk.steps.filter(({ kind }) => kind === "open").map(({ actor, name }) => `${actor} ${name}`)
    expect(opened).toEqual([`A ${shardName(0)}`, `B ${shardName(1)}`, `C ${shardName(2)}`])
    c.journal.append(note("on"))
    await c.journal.flush()
    expect(messages(await stage.history())).toEqual(["start", "run-resume", "on"])
  })

  test("a successor reads after its create, so it sees every intent that its predecessor could act on", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const create = stage.hold("B", "open")
    const taking = stage.take("B")
    await create.reached
    for (const body of call("1")) a.journal.append(body)
    await a.journal.flush()
    create.release()
    const b = await taking
    expect(b.history.map(({ type }) => type)).toContain("tool-intent")
    expect((await stage.history()).at(-1)).toMatchObject({ type: "tool-result", outcome: { status: "unknown" } })
  })

  test("of two concurrent takeovers exactly one owns the run", async () => {
    const stage = scene()
    await stage.take("A")
    const create = stage.hold("B", "open")
    const taking = stage.take("B")
    await create.reached
    await stage.take("C")
    create.release()
    await expect(taking).rejects.toEqual(fenced)
  })

  test("creating a run with a used id is rejected and does not fence its owner", async () => {
    const stage = scene()
    const a = await stage.take("A")
    await expect(takeRun(stage.folder("B"), { fresh: true, first: opening })).rejects.toMatchObject({
      code: "run_active",
    })
    a.journal.append(note("alive"))
    await a.journal.flush()
  })

  test("a damaged flush before a complete one is a typed error for owners and readers", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const first = (stage.disk.bytes(shardName(0)) as Uint8Array).length
    for (const message of ["acknowledged", "behind it"]) {
      a.journal.append(note(message))
      await a.journal.flush()
    }
    const bytes = stage.disk.bytes(shardName(0)) as Uint8Array
    bytes[first + 9] = 0
    const damaged = expect.objectContaining({ code: "storage", retryable: false })
    await expect(stage.history()).rejects.toEqual(damaged)
    await expect(stage.take("B")).rejects.toEqual(damaged)
  })

  test("a flush that is stored twice counts once", () => {
    const flush = new FlushLines()
    flush.add('{"seq":0}')
    const first = flush.sealed(0, JSON.stringify({ v: 1, writer: "w", base: null }))
    flush.clear()
    flush.add('{"seq":1}')
    const second = flush.sealed(first.length)
    const scanned = scanShard(new Uint8Array([...first, ...second, ...second]))
    expect(scanned.lines).toEqual([{ seq: 0 }, { seq: 1 }])
    expect(scanned.validBytes).toBe(first.length + second.length)
  })

  test.each([false, true])("a stale listing hides nothing from a successor (create-only: %s)", async (createOnly) => {
    const stage = scene({ createOnly })
    const a = await stage.take("A")
    a.journal.append(note("kept"))
    await a.journal.flush()
    const found: string[] = []
    await takeRun(
      { ...stage.folder("B"), list: async () => [] },
      {
        first(history) {
          found.push(...messages(history))
          return opening(history)
        },
      },
    )
    expect(found).toEqual(["start", "kept"])
  })

  test("a torn tail is dropped with a warning, and its record is not in history", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const half = stage.hold("A", "write-half")
    a.journal.append(note("torn"))
    a.journal.flush().catch(() => {})
    await half.reached
    await stage.take("B")
    const history = await stage.history()
    expect(history.map(({ type }) => type)).toEqual(["warning", "warning", "run-resume"])
    expect(history[1]).toMatchObject({ code: "journal_tail_dropped" })
  })
})

describe("create-only stores: flaws with ambiguous responses", () => {
  const lost = new Error("the answer was lost")

  test("O1: an owner recognises its own write after a lost response", async () => {
    const stage = scene({ createOnly: true })
    const a = await stage.take("A")
    stage.fail("A", "created", lost)
    a.journal.append(note("mine"))
    await a.journal.flush()
    expect(messages(await stage.history())).toEqual(["start", "mine"])
  })

  test("O1: an existing slot that is not yet readable is read again before a conclusion", async () => {
    const stage = scene({ createOnly: true })
    const folder = stage.folder("A")
    let stale = 0
    const read = async (name: string) => (stale-- > 0 ? null : folder.read(name))
    const journal = await takeRun({ ...folder, read }, { first: opening })
    stage.fail("A", "created", lost)
    stale = 1
    journal.append(note("mine"))
    await journal.flush()
    expect(messages(await stage.history())).toEqual(["start", "mine"])
  })

  test("O2: records after an ambiguous write go into the next slot, never into the same one", async () => {
    const stage = scene({ createOnly: true })
    const a = await stage.take("A")
    for (let attempt = 0; attempt < 6; attempt++) stage.fail("A", attempt === 0 ? "created" : "create", lost)
    a.journal.append(note("intent"))
    await expect(a.journal.flush()).rejects.toThrow("lost")
    a.journal.append(note("cancel"))
    await a.journal.flush()
    expect(messages(await stage.history())).toEqual(["start", "intent", "cancel"])
    expect(messages(a.acknowledged)).toEqual(["start", "intent", "cancel"])
  })

  test("O3: two resumers that write the same content are distinguished by their nonce", async () => {
    const stage = scene({ createOnly: true })
    await stage.take("A")
    const create = stage.hold("B", "create")
    const taking = stage.take("B")
    await create.reached
    await stage.take("C")
    create.release()
    await expect(taking).rejects.toEqual(fenced)
  })

  test("O4: a foreign slot fences permanently; the old owner writes nothing after it", async () => {
    const stage = scene({ createOnly: true })
    const a = await stage.take("A")
    await stage.take("B")
    a.journal.append(note("zombie"))
    await expect(a.journal.flush()).rejects.toEqual(fenced)
    await expect(a.journal.flush()).rejects.toEqual(fenced)
    expect(messages(await stage.history())).toEqual(["start", "run-resume"])
  })

  test("O5: only one create is in flight; waiting records are batched into the next", async () => {
    const stage = scene({ createOnly: true })
    const a = await stage.take("A")
    const first = stage.hold("A", "create", shardName(1))
    a.journal.append(note("1"))
    const one = a.journal.flush()
    await first.reached
    a.journal.append(note("2"))
    const two = a.journal.flush()
    a.journal.append(note("3"))
    const three = a.journal.flush()
    await settle()
    expect(stage.disk.bytes(shardName(2))).toBeUndefined()
    first.release()
    await Promise.all([one, two, three])
    expect(a.journal.shard).toBe(2)
    expect(messages(await stage.history())).toEqual(["start", "1", "2", "3"])
  })

  test("O8: a conflict without an outcome is retried with the same bytes", async () => {
    const stage = scene({ createOnly: true })
    const a = await stage.take("A")
    stage.fail("A", "create", new Error("409 ConditionalRequestConflict"))
    a.journal.append(note("again"))
    await a.journal.flush()
    expect(messages(await stage.history())).toEqual(["start", "again"])
  })

  test("of two processes that start the same run one gets an error that it exists", async () => {
    const stage = scene({ createOnly: true })
    await stage.take("A")
    await expect(takeRun(stage.folder("B"), { fresh: true, first: opening })).rejects.toMatchObject({
      code: "run_active",
    })
  })
})

describe("acknowledged records are never dropped silently", () => {
  test("a shard with a damaged first flush before complete ones is damaged, not void", async () => {
    const stage = scene()
    const a = await stage.take("A")
    a.journal.append(note("second flush"))
    await a.journal.flush()
    const bytes = stage.disk.bytes(shardName(0)) as Uint8Array
    bytes[20] = (bytes[20] as number) ^ 1
    await expect(stage.take("B")).rejects.toMatchObject({ code: "storage" })
  })

  test("on create-only stores an unreadable slot is damaged, not void", async () => {
    const stage = scene({ createOnly: true })
    await stage.take("A")
    const bytes = stage.disk.bytes(shardName(0)) as Uint8Array
    bytes[20] = (bytes[20] as number) ^ 1
    await expect(stage.take("B")).rejects.toMatchObject({ code: "storage" })
  })

  test("an existing slot that reads as absent is read again, never skipped", async () => {
    const stage = scene({ createOnly: true })
    const a = await stage.take("A")
    a.journal.append(note("acknowledged"))
    await a.journal.flush()
    const folder = stage.folder("B")
    let stale = 2
    await takeRun(
      { ...folder, read: async (name) => (name === shardName(1) && stale-- > 0 ? null : folder.read(name)) },
      { first: opening },
    )
    expect(messages(await stage.history())).toEqual(["start", "acknowledged", "run-resume"])
  })

  test("after a release nothing is written or acknowledged, whichever caller asks", async () => {
    const stage = scene()
    const a = await stage.take("A")
    const write = stage.hold("A", "write")
    a.journal.append(note("last"))
    const released = a.journal.release()
    await write.reached
    a.journal.append(note("too late"))
    const late = a.journal.flush()
    late.catch(() => {})
    write.release()
    await released
    await settle()
    expect(messages(a.acknowledged)).not.toContain("too late")
    expect(messages(await stage.history())).not.toContain("too late")
  })
})

test("F4: a base whose sync failed once is not trusted after a second successful sync", async () => {
  const stage = scene()
  const a = await stage.take("A")
  const hold = stage.hold("A", "write-sync")
  for (const body of call("1")) a.journal.append(body)
  a.journal.flush().catch(() => {})
  await hold.reached
  // Process A dies here: its flush is complete in the page cache but not on the disk.
  const folder = stage.folder("B")
  let syncs = 0
  const lying: Folder = {
    ...folder,
    append: {
      ...(folder.append as NonNullable<typeof folder.append>),
      // The operating system reports a failed write-back once; the next sync succeeds as if nothing had happened.
      sync: async () => {
        if (syncs++ === 0) throw new Error("EIO")
      },
    },
  }
  await expect(takeRun(lying, { first: opening })).rejects.toThrow("EIO")
  await settle()
  stage.disk.losePower()
  expect(syncs).toBe(1)
  expect((await stage.history()).length).toBeGreaterThan(0)
})

describe("the inbox", () => {
  test("M1: a message is stored in the next free slot, and its sender recognises it", async () => {
    const stage = scene()
    expect(await postMessage(stage.folder("S"), { type: "cancel" })).toBe(0)
    stage.fail("T", "created", new Error("lost"))
    // The response is lost: the owner sends the same bytes again and finds them stored.
    expect(await postMessage(stage.folder("T"), { type: "interrupt", mode: "graceful" })).toBe(1)
    expect(await postMessage(stage.folder("U"), { type: "cancel" })).toBe(2)
    expect(await readMessage(stage.folder("A"), 0)).toEqual({ type: "cancel" })
    expect(await readMessage(stage.folder("A"), 1)).toEqual({ type: "interrupt", mode: "graceful" })
    expect(await readMessage(stage.folder("A"), 3)).toBeNull()
    expect(stage.disk.steps.some(({ kind, name }) => kind === "open" && name === inboxName(0))).toBe(false)
  })

  test('M1: a sender whose successful post returned "exists" posts only once', async () => {
    const stage = scene()
    const folder = stage.folder("S")
    let answers = 0
    const create: typeof folder.create = async (name, bytes) => {
      const answer = await folder.create(name, bytes)
      return answers++ === 0 ? "exists" : answer
    }
    expect(await postMessage({ ...folder, create }, { type: "cancel" })).toBe(0)
    expect(await readMessage(folder, 1)).toBeNull()
  })
})
