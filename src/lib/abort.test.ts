import { expect, test, vi } from "vitest"
import { delay, onAbort, withTimeout } from "./abort.ts"

test("each waiter is called once, in order, unless it was removed", () => {
  const abort = new AbortController()
  const called: string[] = []
  onAbort(abort.signal, () => called.push("first"))
  const unlink = onAbort(abort.signal, () => called.push("taken back"))
  onAbort(abort.signal, () => called.push("second"))
  unlink()
  abort.abort()
  abort.abort()
  expect(called).toEqual(["first", "second"])
})

test("one function that waits twice is called twice", () => {
  const abort = new AbortController()
  const called = vi.fn()
  onAbort(abort.signal, called)
  onAbort(abort.signal, called)
  abort.abort()
  expect(called).toHaveBeenCalledTimes(2)
})

test("a waiter removed by an earlier waiter is not called", () => {
  const abort = new AbortController()
  const called = vi.fn()
  onAbort(abort.signal, () => unlink())
  const unlink = onAbort(abort.signal, called)
  abort.abort()
  expect(called).not.toHaveBeenCalled()
})

test("an aborted signal calls its waiter, but not before the caller continues", async () => {
  const called = vi.fn()
  onAbort(AbortSignal.abort(), called)
  expect(called).not.toHaveBeenCalled()
  await Promise.resolve()
  expect(called).toHaveBeenCalledTimes(1)
})

test("a delay ends with its time or with the signal, whichever comes first", async () => {
  const abort = new AbortController()
  await delay(1, abort.signal)
  const waiting = delay(1_000_000, abort.signal)
  abort.abort()
  await waiting
  await delay(1_000_000, abort.signal)
})

test("work with a time limit gets a signal that aborts with the caller's, with its reason, or after the limit", async () => {
  const reasonOf = (limit: AbortSignal) =>
    new Promise<unknown>((resolve) => onAbort(limit, () => resolve(limit.reason)))
  const caller = new AbortController()
  const waiting = withTimeout(1_000_000, caller.signal, reasonOf)
  caller.abort("why")
  expect(await waiting).toBe("why")
  expect(await withTimeout(1_000_000, caller.signal, async ({ aborted, reason }) => [aborted, reason])).toEqual([
    true,
    "why",
  ])
  expect(await withTimeout(1, undefined, reasonOf)).toMatchObject({ name: "TimeoutError" })
})

test("work that has ended leaves neither a timer nor a listener behind", async () => {
  const caller = new AbortController()
  const limits: AbortSignal[] = []
  await withTimeout(1, caller.signal, async (limit) => limits.push(limit))
  await delay(2)
  caller.abort()
  expect(limits.map(({ aborted }) => aborted)).toEqual([false])
})
