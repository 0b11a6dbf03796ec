import { expect, test } from "vitest"
import type { Compaction, ConversationHead } from "../contract/compaction.ts"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import type { Message } from "../contract/message.ts"
import { SUMMARY_START } from "../lib/compaction/compacted.ts"
import { noUsage } from "../lib/usage.ts"
import { project } from "./projection.ts"

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
const summary = user(SUMMARY_START)
const start = (...messages: Message[]): RecordBody => ({
  type: "run-start",
  runId: "r",
  nodeId: "main",
  input: { messages, backend: "native", cwd: "." },
  tools: [],
  limits: { turns: 100 },
})
const turn = (number: number): RecordBody[] => [
  { type: "turn-start", turn: number },
  { type: "text-end", turn: number, id: `${number}.0`, text: `answer ${number}` },
  { type: "usage", turn: number, usage: { ...noUsage, inputTokens: 100 * number }, model: "m", stopReason: "end" },
  { type: "turn-end", turn: number },
]
const compaction = (head: ConversationHead, more: Partial<Compaction> = {}): RecordBody => ({
  type: "compaction",
  turn: 3,
  cause: "threshold",
  window: 1_000,
  head,
  tokens: { before: 900, after: 300 },
  ...more,
})
const fold = (...bodies: readonly RecordBody[]) =>
  project(bodies.map((body, seq): RunRecord => ({ seq, at: seq, ...body })))
const textsOf = (messages: readonly Message[]) =>
  messages.map(({ content }) => (content[0]?.type === "text" ? content[0].text : ""))

test("a message that follows a turn belongs to it, and the input to turn 0", () => {
  const run = fold(start(user("task")), ...turn(1), { type: "steer", text: "more" }, ...turn(2))
  expect(run.context.after([]).map(({ turn }) => turn)).toEqual([0, 1, 1, 2])
  expect(run.context.measured).toEqual({ tokens: 200, since: 1 })
})

test("a compaction is the last known size, so that no usage from before it counts", () => {
  const run = fold(
    start(user("task")),
    ...turn(1),
    ...turn(2),
    compaction({ through: 1, messages: [user("task"), summary] }),
  )
  expect(textsOf(run.messages)).toEqual(["task", SUMMARY_START, "answer 2"])
  expect(run.context.measured).toEqual({ tokens: 300, since: 0 })
  expect(run.context.recent).toEqual([{ turn: 3, window: 1_000, after: 300, hasHead: true }])
})

test("the learned window is the lowest of the refused requests, and is not valid for another model", () => {
  const head = { through: 1, messages: [user("task"), summary] }
  const choice = (model: string): RecordBody => ({ type: "choice", backend: "native", model, reasons: [] })
  const bodies = [
    start(user("task")),
    choice("a"),
    ...turn(1),
    ...turn(2),
    compaction(head, { cause: "overflow", window: 500 }),
  ]
  expect(fold(...bodies, compaction(head, { cause: "overflow", window: 700 })).context.learnedWindow).toBe(500)
  expect(fold(...bodies, choice("a")).context.learnedWindow).toBe(500)
  expect(fold(...bodies, choice("b")).context).toMatchObject({
    learnedWindow: undefined,
    recent: [],
    measured: undefined,
  })
})

test("a run is streaming between the request of a turn and its answer", () => {
  const asked = [start(user("task")), ...turn(1), { type: "turn-start", turn: 2 }] as const
  expect(fold(...asked.slice(0, -1)).activity).toEqual({ now: "idle" })
  expect(fold(...asked).activity).toEqual({ now: "streaming" })
  expect(fold(...asked, ...turn(2).slice(1)).activity).toEqual({ now: "idle" })
})

test("a run is compacting between the start of a compaction and its end", { tags: ["CMP-04"] }, () => {
  const begun = [start(user("task")), ...turn(1), { type: "compaction-start", turn: 2 }] as const
  expect(fold(...begun).activity).toEqual({ now: "compacting" })
  expect(fold(...begun, compaction({ through: 0, kept: 1, messages: [summary] })).activity).toEqual({ now: "idle" })
  expect(fold(...begun, { type: "run-resume", cause: "recovery" }).activity).toEqual({ now: "idle" })
})

test("the reserve of a compaction that never ended is spent; the usage of one that did counts, but not as a turn", () => {
  const begun = [
    start(user("task")),
    ...turn(1),
    { type: "compaction-start", turn: 2, reserve: { tokens: 70, usd: 0.5 } },
  ] as const
  expect(fold(...begun, { type: "run-resume", cause: "recovery" }).spent).toMatchObject({ tokens: 170, usd: 0.5 })
  const usage = { ...noUsage, inputTokens: 20, costUsd: 0.25 }
  const run = fold(...begun, compaction({ through: 0, kept: 1, messages: [summary] }, { usage }))
  expect(run.spent).toMatchObject({ tokens: 120, usd: 0.25 })
  expect(run).toMatchObject({ turns: 1, usage: { inputTokens: 120, costUsd: 0.25 } })
})

test("the reserve of a turn whose request was refused is given back once the conversation is shortened", () => {
  const refused = [start(user("task")), { type: "turn-start", turn: 1, reserve: { tokens: 70, usd: 0.5 } }] as const
  const run = fold(...refused, compaction({ through: 0, kept: 1, messages: [summary] }), {
    type: "run-resume",
    cause: "recovery",
  })
  expect(run.spent).toMatchObject({ tokens: 0, usd: 0 })
})

test("a head over earlier exchanges leaves what it says of them, also a second one", () => {
  const before = ["a", "b", "c", "d"].map(user)
  const first = compaction({ through: 0, kept: 3, messages: [user("words"), summary] })
  const run = fold(start(user("task")), first)
  expect(textsOf(run.context.after(before).map(({ message }) => message))).toEqual([
    "words",
    SUMMARY_START,
    "c",
    "d",
    "task",
  ])
  const second = fold(start(user("task")), first, compaction({ through: 0, kept: 2, messages: [summary] }))
  expect(textsOf(second.context.after(before).map(({ message }) => message))).toEqual([SUMMARY_START, "d", "task"])
  const third = fold(
    start(user("task")),
    first,
    ...turn(1),
    ...turn(2),
    compaction({ through: 1, messages: [user("task"), summary] }),
  )
  expect(textsOf(third.context.after(before).map(({ message }) => message))).toEqual([
    "task",
    SUMMARY_START,
    "answer 2",
  ])
  // A fork has the earlier exchanges in its own input.
  const fork = fold(start(...before, user("task")), first, compaction({ through: 0, kept: 2, messages: [summary] }))
  expect(textsOf(fork.messages)).toEqual([SUMMARY_START, "d", "task"])
})

test("a request of the host is open until the next turn or compaction", () => {
  const asked = [start(user("task")), ...turn(1), { type: "compaction-request", inbox: 4 }] as const
  expect(fold(...asked)).toMatchObject({ nextInbox: 5, context: { isAsked: true } })
  expect(fold(...asked, { type: "turn-start", turn: 2 }).context.isAsked).toBe(false)
})

test("a compaction after the conversation was handed over is known by its figures alone", () => {
  const run = fold(start(user("task")), ...turn(1), ...turn(2))
  run.context.handOver()
  const head = { through: 1, messages: [user("task"), summary] }
  run.apply({ seq: 9, at: 9, ...compaction(head, { cause: "overflow" }) })
  expect(run.context).toMatchObject({ isKept: false, isCompacted: true, learnedWindow: 1_000 })
  expect(run.context.recent).toEqual([{ turn: 3, window: 1_000, after: 300, hasHead: true }])
})
