import { expect, test, vi } from "vitest"
import { delay, onAbort } from "./abort.ts"

test("everyone who waits is called once, in order, except those who took it back", () => {
  const abort = new AbortController()
  const add = vi.spyOn(abort.signal, "addEventListener")
  const called: string[] = []
  onAbort(abort.signal, () => called.push("first"))
  const unlink = onAbort(abort.signal, () => called.push("taken back"))
  onAbort(abort.signal, () => called.push("second"))
  unlink()
  abort.abort()
  expect(called).toEqual(["first", "second"])
  expect(add).toHaveBeenCalledTimes(1)
})

test("who is taken back by somebody called before is not called", () => {
  const abort = new AbortController()
  const called = vi.fn()
  onAbort(abort.signal, () => unlink())
  const unlink = onAbort(abort.signal, called)
  abort.abort()
  expect(called).not.toHaveBeenCalled()
})

test("a signal that has aborted calls, but not before the caller goes on", async () => {
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
