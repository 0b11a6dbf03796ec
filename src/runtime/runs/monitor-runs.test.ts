import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { RunProjection } from "../../journal/projection.ts"
import { memoryStore } from "../../stores/memory.ts"
import type { OpenRun } from "../open-run.ts"
import { RunMonitor } from "./monitor-runs.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const TICK_MS = 500

/** As many runs as wanted, each with the number of times that it showed itself. */
function tendAll(count: number, appends = true) {
  const tender = new RunMonitor()
  const shown = Array<number>(count).fill(0)
  const projections = shown.map(() => new RunProjection())
  const ends = projections.map((projection, index) => {
    const { append, ...folder } = memoryStore().folder("run")
    const replace: typeof folder.replace = async () => {
      shown[index] = (shown[index] as number) + 1
    }
    const place = { ...folder, replace, ...(appends && { append }) }
    return tender.tend({ folder: place, projection, journal: { shard: 0 } } as unknown as OpenRun)
  })
  return { shown, projections, end: () => Promise.all(ends.map((each) => each())) }
}

const total = (shown: readonly number[]) => shown.reduce((sum, each) => sum + each, 0)

test("with many runs, each tick updates some of them in rotation", async () => {
  const { shown, projections, end } = tendAll(80)
  await vi.advanceTimersByTimeAsync(3 * TICK_MS)
  expect(total(shown)).toBe(0)
  let before = 0
  for (let tick = 0; tick < 10; tick++) {
    for (const projection of projections) projection.turns++
    await vi.advanceTimersByTimeAsync(TICK_MS)
    expect(total(shown) - before).toBe(32)
    before = total(shown)
  }
  expect(Math.max(...shown) - Math.min(...shown)).toBeLessThanOrEqual(1)
  await end()
})

test("a due heartbeat is written, however many runs there are", async () => {
  // Where every write is a request, these are all that is written.
  const { shown, end } = tendAll(200, false)
  await vi.advanceTimersByTimeAsync(42 * TICK_MS)
  expect(total(shown)).toBe(0)
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect(shown).toEqual(Array(200).fill(1))
  await end()
})

test("ASY-09 a run writes its state at most once in 500 ms, however often its activity changes", async () => {
  const { shown, projections, end } = tendAll(1)
  const [projection] = projections as [RunProjection]
  await vi.advanceTimersByTimeAsync(4 * TICK_MS)
  expect(shown).toEqual([1])
  for (let moment = 0; moment < 500; moment++) {
    projection.turns++
    await vi.advanceTimersByTimeAsync(10)
  }
  expect(shown).toEqual([1 + 5000 / TICK_MS])
  await end()
})

test("ASY-09 a run whose activity does not change writes its state only as a sign of life, every 20 s", async () => {
  const { shown, projections, end } = tendAll(1)
  const [projection] = projections as [RunProjection]
  await vi.advanceTimersByTimeAsync(4 * TICK_MS)
  expect(shown).toEqual([1])
  await vi.advanceTimersByTimeAsync(39 * TICK_MS)
  expect(shown).toEqual([1])
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect(shown).toEqual([2])
  projection.turns++
  await vi.advanceTimersByTimeAsync(TICK_MS)
  expect(shown).toEqual([3])
  await vi.advanceTimersByTimeAsync(39 * TICK_MS)
  expect(shown).toEqual([3])
  await end()
})
