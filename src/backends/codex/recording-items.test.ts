import { expect, test } from "vitest"
import { recording } from "../../../test/support/codex-recording.ts"
import type { JsonObject } from "../../contract/json.ts"

const turnId = "turn1"
const started = (type: string, more: JsonObject = {}) => ["item/started", { item: { type, id: "i", ...more } }] as const
const message = ["item/completed", { item: { type: "agentMessage", id: "m", text: "Hello." } }] as const
const total = ["thread/tokenUsage/updated", { turnId, tokenUsage: { total: {} } }] as const
const usage = (turn: number) => ({ type: "usage", turn, stopReason: "tool-calls" })

/** Records these notifications. */
async function recorded(
  facts: Parameters<typeof recording>[0],
  ...notifications: readonly (readonly [string, JsonObject])[]
) {
  const scene = recording(facts)
  for (const [method, params] of notifications) scene.subject.take(method, params, turnId)
  await scene.subject.enqueue(() => {})
  return scene
}

test("what cannot be recorded is a failure of the run, and what comes after it is still recorded", async () => {
  const { subject, failures, events } = recording({})
  const lost = new Error("The journal is lost.")
  subject.enqueue(() => Promise.reject(lost)).catch(() => {})
  for (const [method, params] of [message, total]) subject.take(method, params, turnId)
  await subject.enqueue(() => {})
  expect(failures).toEqual([lost])
  expect(events).toContainEqual(expect.objectContaining({ type: "text-end", text: "Hello." }))
})

test("an item of the model that is no call is no failure", async () => {
  const item = { type: "message", role: "assistant", content: [] }
  const { failures, events } = await recorded({}, ["rawResponseItem/completed", { item, turnId }])
  expect([failures, events]).toEqual([[], []])
})

test("the start of an item of an unknown kind is neither noted nor recorded", async () => {
  const { noted, events } = await recorded({}, started("somethingNew"), started("commandExecution"))
  expect(noted).toMatchObject([{ type: "commandExecution" }])
  expect(events).toEqual([])
})

test("the start of a call begins no answer and no text: its hook is asked first", async () => {
  const { events, shown } = await recorded({ deltas: true }, started("commandExecution"), started("dynamicToolCall"))
  expect([events, shown]).toEqual([[], []])
})

test("the start of a text and of its reasoning begin an answer, and are shown to a listener", async () => {
  const { events, shown } = await recorded({ deltas: true }, started("reasoning"), started("agentMessage"))
  expect(events).toEqual([{ type: "begin", turn: 1 }])
  expect(shown).toMatchObject([{ type: "reasoning-start" }, { type: "text-start" }])
})

test("the start of a text is not shown if there is no listener", async () => {
  const { events, shown } = await recorded({ deltas: false }, started("agentMessage"))
  expect(events).toEqual([{ type: "begin", turn: 1 }])
  expect(shown).toEqual([])
})

test("a text of an answer that may not begin halts the run, and is neither shown nor recorded", async () => {
  const { subject, events, shown, stops } = await recorded({ turns: 0, deltas: true }, started("agentMessage"), message)
  expect([events, shown]).toEqual([[], []])
  expect(stops[0]).toEqual({ reason: "limit" })
  expect(subject.finalText).toBe("")
})

test("a text whose start was not reported begins an answer when it is complete", async () => {
  const { subject, events } = await recorded({}, message)
  expect(events).toMatchObject([
    { type: "begin", turn: 1 },
    { type: "text-end", turn: 1, text: "Hello." },
  ])
  expect(subject.finalText).toBe("Hello.")
})

const sent = [{ id: "s1", text: "Use the other door." }]
const steered = started("userMessage", { clientId: "s1" })

test("a message that has reached the model is recorded between two answers", async () => {
  const { events } = await recorded({ sent }, message, steered, message)
  expect(events.slice(2)).toMatchObject([
    usage(1),
    { type: "steer", id: "s1", text: "Use the other door." },
    { type: "begin", turn: 2 },
    { type: "text-end", turn: 2 },
  ])
})

test("a message of another sender is no message of the run, and ends no answer", async () => {
  const { events } = await recorded({ sent }, message, started("userMessage"), message)
  expect(events.map(({ type }) => type)).toEqual(["begin", "text-end", "text-end"])
})

test("a message is not recorded as received if the run ends with the answer before it", async () => {
  const { events, stops } = await recorded({ sent, atTurnEnd: { reason: "ended" } }, message, steered)
  expect(stops).toEqual([{ reason: "ended" }])
  expect(events.at(-1)).toMatchObject(usage(1))
})

test("a total of Codex ends an answer once, and none if no answer has begun", async () => {
  const { ends } = await recorded({}, total, message, total, total)
  expect(ends).toEqual([false])
})
