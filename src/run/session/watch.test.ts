import { beforeEach, expect, test, vi } from "vitest"
import type { Stop } from "../../contract/backend.ts"
import { Watch } from "./watch.ts"

const stalled: Stop = { reason: "interrupted" }

beforeEach(() => {
  vi.useFakeTimers()
  return () => void vi.useRealTimers()
})

test("a session that gives signs is not stopped, and is once they end", () => {
  const interrupt = vi.fn()
  const watch = new Watch(100, () => stalled, interrupt)
  for (let sign = 0; sign < 10; sign++) {
    vi.advanceTimersByTime(60)
    watch.alive()
  }
  vi.advanceTimersByTime(99)
  expect(interrupt).not.toHaveBeenCalled()
  vi.advanceTimersByTime(2)
  expect(watch.cause).toBe(stalled)
  expect(interrupt).toHaveBeenCalledOnce()
})

test("a session that waits for the host owes no sign, and has the whole time again afterwards", async () => {
  const interrupt = vi.fn()
  const watch = new Watch(100, () => stalled, interrupt)
  let settle = () => {}
  const work = watch.during(new Promise<void>((resolve) => (settle = resolve)))
  vi.advanceTimersByTime(1000)
  settle()
  await work
  vi.advanceTimersByTime(99)
  expect(interrupt).not.toHaveBeenCalled()
  vi.advanceTimersByTime(2)
  expect(interrupt).toHaveBeenCalledOnce()
})

test("a closed watch stops nothing", () => {
  const interrupt = vi.fn()
  const watch = new Watch(100, () => stalled, interrupt)
  watch.close()
  vi.advanceTimersByTime(1000)
  expect(interrupt).not.toHaveBeenCalled()
})
