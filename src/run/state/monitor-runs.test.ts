import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { RunProjection } from "../../journal/projection.ts"
import { memoryStore } from "../../stores/memory.ts"
import { RunMonitor } from "./monitor-runs.ts"
import type { OpenRun } from "./open-run.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const TICK_MS = 500

/** Monitors `count` runs and counts the state writes of each. */
function monitorAll(count: number, appends = true) {
  const monitor = new RunMonitor()
  const writes = Array<number>(count).fill(0)
  const projections = writes.map(() => new RunProjection())
  const ends = projections.map((projection, index) => {
    const { append, ...folder } = memoryStore().folder("run")
    const replace: typeof folder.replace = async () => {
      writes[index] = (writes[index] as number) + 1
    }
    const place = { ...folder, replace, ...(appends && { append }) }
    return monitor.add({ folder: place, projection, journal: { shard: 0 } } as unknown as OpenRun)
  })
  return { writes, projections, end: () => Promise.all(ends.map((each) => each())) }
}

const total = (writes: readonly number[]) => writes.reduce((sum, each) => sum + each, 0)

test("with many runs, each tick updates some of them in rotation", async () => {
  const { writes, projections, end } = monitorAll(80)
  await vi.advanceTimersByTimeAsync(3 * TICK_MS)
  expect(total(writes)).toBe(0)
  let before = 0
  for (let tick = 0; tick < 10; tick++) {
    for (const projection of projections) projection.turns++
    await vi.advanceTimersByTimeAsync(TICK_MS)
    expect(total(writes) - before).toBe(32)
    before = total(writes)
  }
  expect(Math.max(...writes) - Math.min(...writes)).toBeLessThanOrEqual(1)
  await end()
})

test("a due heartbeat is written, however many runs there are", async () => {
  // On stores where every write is a request, only heartbeats are written.
  const { writes, end } = monitorAll(200, false)
  await vi.advanceTimersByTimeAsync(42 * TICK_MS)
  expect(total(writes)).toBe(0)
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect(writes).toEqual(Array(200).fill(1))
  await end()
})

test("a run writes its state at most once in 500 ms, however often its activity changes", {
  tags: ["ASY-09"],
}, async () => {
  const { writes, projections, end } = monitorAll(1)
  const [projection] = projections as [RunProjection]
  await vi.advanceTimersByTimeAsync(4 * TICK_MS)
  expect(writes).toEqual([1])
  for (let moment = 0; moment < 500; moment++) {
    projection.turns++
    await vi.advanceTimersByTimeAsync(10)
  }
  expect(writes).toEqual([1 + 5000 / TICK_MS])
  await end()
})

test("a run whose activity does not change writes its state only as a sign of life, every 20 s", {
  tags: ["ASY-09"],
}, async () => {
  const { writes, projections, end } = monitorAll(1)
  const [projection] = projections as [RunProjection]
  await vi.advanceTimersByTimeAsync(4 * TICK_MS)
  expect(writes).toEqual([1])
  await vi.advanceTimersByTimeAsync(39 * TICK_MS)
  expect(writes).toEqual([1])
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect(writes).toEqual([2])
  projection.turns++
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect(writes).toEqual([3])
  await vi.advanceTimersByTimeAsync(39 * TICK_MS)
  expect(writes).toEqual([3])
  await end()
})
