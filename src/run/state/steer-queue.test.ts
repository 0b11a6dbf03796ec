import { expect, test } from "vitest"
import type { SteerMessage } from "../../contract/session.ts"
import { SteerQueue } from "./steer-queue.ts"

/** A session that takes messages until it is full, and what it has taken. */
function session(room = Number.POSITIVE_INFINITY) {
  const taken: SteerMessage[] = []
  return { taken, take: (message: SteerMessage) => taken.length < room && taken.push(message) > 0 }
}

test("messages that come before a session wait for it, in order", () => {
  const queue = new SteerQueue()
  expect([queue.add("one"), queue.add("two")]).toEqual([true, true])
  const { taken, take } = session()
  queue.connect(take)
  queue.add("three")
  expect(taken.map(({ text }) => text)).toEqual(["one", "two", "three"])
})

test("two messages with the same text are told apart by their ids", () => {
  const queue = new SteerQueue()
  const { taken, take } = session()
  queue.connect(take)
  queue.add("Hurry.")
  queue.add("Hurry.", { inbox: 3 })
  const [first, second] = taken as [SteerMessage, SteerMessage]
  expect(queue.delivered(second)).toEqual({ type: "steer", text: "Hurry.", inbox: 3 })
  expect(queue.delivered(first)).toEqual({ type: "steer", text: "Hurry." })
  expect(queue.hasUnread).toBe(false)
})

test("a session may report a message while it takes it", () => {
  const queue = new SteerQueue()
  const records: unknown[] = []
  queue.connect((message) => records.push(queue.delivered(message)) > 0)
  expect(queue.add("Done.", { reason: "agent", agentId: "a1" })).toBe(true)
  expect(records).toEqual([{ type: "steer", text: "Done.", reason: "agent", agentId: "a1" }])
  expect(queue.disconnect()).toEqual([])
})

test("a message that comes after the session has closed is refused, and not recorded", () => {
  const queue = new SteerQueue()
  queue.connect(session(0).take)
  expect(queue.add("Too late.")).toBe(false)
  expect(queue.disconnect()).toEqual([])
})

test("a message that was accepted and that its session then refuses is recorded, but nothing waits for it", () => {
  const queue = new SteerQueue()
  queue.add("Hurry.", { inbox: 0 })
  expect(queue.hasUnread).toBe(true)
  queue.connect(session(0).take)
  expect(queue.hasUnread).toBe(false)
  expect(queue.disconnect()).toEqual([{ type: "steer", text: "Hurry.", inbox: 0 }])
})

test("messages that the model never received are recorded once, and no further ones are accepted", () => {
  const queue = new SteerQueue()
  queue.connect(session().take)
  queue.add("one")
  expect(queue.disconnect()).toEqual([{ type: "steer", text: "one" }])
  expect(queue.disconnect()).toEqual([])
  expect(queue.add("late")).toBe(false)
})

test("a run without a session begins with the message that has waited longest", () => {
  const queue = new SteerQueue()
  queue.add("one")
  queue.add("Done.", { reason: "agent", agentId: "a1" })
  expect(queue.hasAnswerOfAgent).toBe(true)
  expect(queue.takeFirst()).toEqual({ type: "steer", text: "one" })
  expect(queue.takeFirst()).toEqual({ type: "steer", text: "Done.", reason: "agent", agentId: "a1" })
  expect(queue.takeFirst()).toBeUndefined()
  expect(queue.hasAnswerOfAgent).toBe(false)
})
