import { expect, test, vi } from "vitest"
import { note, scene } from "../../test/support/scene.ts"
import { until } from "../../test/support/watchdog.ts"
import { memoryStore } from "../stores/memory.ts"
import { takeRun } from "./journal.ts"
import { createReader } from "./reader.ts"

const storage = new Error("EIO")

async function take({ fails = 0 } = {}) {
  const stage = scene()
  const failed = vi.fn()
  const acknowledged: string[] = []
  const journal = await takeRun(stage.folder("A"), {
    first: () => [note("start")],
    acknowledged: (records) =>
      acknowledged.push(...records.map((record) => ("message" in record ? record.message : ""))),
    failed,
  })
  // Each flush tries two shards.
  for (let fault = 0; fault < 2 * fails; fault++) stage.fail("A", "write", storage)
  return { journal, failed, acknowledged }
}

test("concurrent waiters for the same records get the same result, and later records follow", async () => {
  const { journal, acknowledged } = await take()
  journal.append(note("one"))
  const first = journal.flush()
  expect(journal.flush()).toBe(first)
  journal.append(note("two"))
  await first
  expect(acknowledged).toEqual(["start", "one", "two"])
  await journal.flush()
  expect(journal.newestPending).toBe(-1)
})

test("a background flush reports its failure to the owner, and the next flush repeats its records", async () => {
  const { journal, failed, acknowledged } = await take({ fails: 1 })
  journal.append(note("one"))
  journal.flushSoon()
  await until(() => failed.mock.calls.length === 1)
  expect(acknowledged).toEqual(["start"])
  journal.append(note("two"))
  await journal.flush()
  expect(acknowledged).toEqual(["start", "one", "two"])
  expect(failed).toHaveBeenCalledTimes(1)
})

test("an awaited flush reports its failure only to its waiters", async () => {
  const { journal, failed } = await take({ fails: 1 })
  journal.append(note("one"))
  await expect(journal.flush()).rejects.toThrow("EIO")
  expect(failed).not.toHaveBeenCalled()
})

test("riding records become durable without an explicit flush", async () => {
  const { journal, acknowledged } = await take()
  journal.append(note("riding"))
  expect(acknowledged).toEqual(["start"])
  await until(() => acknowledged.length === 2)
  expect(acknowledged).toEqual(["start", "riding"])
})

test("a record keeps its value at append time, even if its source changes later", async () => {
  const stage = scene()
  const journal = await takeRun(stage.folder("A"), { first: () => [note("start")] })
  const paths = ["as it was"]
  journal.append({ type: "warning", code: "tool_payload_truncated", message: "m", paths })
  paths[0] = "changed"
  await journal.flush()
  expect(await stage.history()).toMatchObject([{ message: "start" }, { paths: ["as it was"] }])
})

test("a fenced owner is notified immediately by a background flush", async () => {
  const stage = scene()
  const failed = vi.fn()
  const journal = await takeRun(stage.folder("A"), { first: () => [note("start")], failed })
  await stage.take("B")
  journal.append(note("late"))
  await expect(journal.flush()).rejects.toMatchObject({ code: "fenced" })
  journal.flushSoon()
  expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: "fenced" }))
})

test("a record that is not valid JSON gets no number and leaves no trace", async () => {
  const folder = memoryStore().folder("run")
  const told: number[] = []
  const journal = await takeRun(folder, {
    first: () => [note("start")],
    acknowledged: (records) => told.push(...records.map(({ seq }) => seq)),
  })
  journal.append(note("before"))
  const bad = { type: "warning", code: "bad", message: 1n as unknown as string } as const
  expect(() => journal.append(bad)).toThrow(expect.objectContaining({ code: "internal" }))
  journal.append(note("after"))
  await journal.release()
  expect(told).toEqual([0, 1, 2])
  const records = await createReader(folder).next()
  expect(records).toMatchObject([{ message: "start" }, { seq: 1, message: "before" }, { seq: 2, message: "after" }])
})

test("a journal whose records are flushed leaves no timer that would keep a process alive", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    const { journal } = await take()
    journal.append(note("one"))
    await journal.flush()
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
