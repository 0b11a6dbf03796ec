import { expect, test } from "vitest"
import { Semaphore } from "./semaphore.ts"

const never = new AbortController().signal

test("a released permit goes to the first waiter", async () => {
  const permits = new Semaphore(1)
  const order: string[] = []
  const leave = await permits.take(never)
  const waiters = ["a", "b"].map(async (name) => {
    const leaveAgain = await permits.take(never)
    order.push(name)
    leaveAgain()
  })
  expect(order).toEqual([])
  leave()
  await Promise.all(waiters)
  expect(order).toEqual(["a", "b"])
  expect(permits.hasFree).toBe(true)
})

test("an aborted waiter leaves the queue: the permit goes to the next waiter and is free at the end", async () => {
  const permits = new Semaphore(1)
  const abort = new AbortController()
  const leave = await permits.take(never)
  const aborted = permits.take(abort.signal)
  let entered = false
  const next = permits.take(never).then((leaveAgain) => {
    entered = true
    return leaveAgain
  })
  abort.abort()
  const leaveAborted = await aborted
  // The aborted waiter holds no permit, so there is none to return.
  leaveAborted()
  await new Promise((resolve) => setTimeout(resolve))
  expect(entered).toBe(false)
  expect(permits.hasFree).toBe(false)
  leave()
  const leaveNext = await next
  leaveNext()
  expect(permits.hasFree).toBe(true)
})

test("an abort after a waiter got its permit does not revoke it", async () => {
  const permits = new Semaphore(1)
  const abort = new AbortController()
  const leave = await permits.take(never)
  const waiting = permits.take(abort.signal)
  leave()
  abort.abort()
  expect(permits.hasFree).toBe(false)
  const leaveWaiting = await waiting
  leaveWaiting()
  expect(permits.hasFree).toBe(true)
})
