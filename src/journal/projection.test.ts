import { describe, expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import { project, RunProjection } from "./projection.ts"

const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
const bodies: readonly RecordBody[] = [
  { type: "turn-start", turn: 1 },
  { type: "text-end", turn: 1, id: "1.0", text: "Let me look." },
  { type: "tool-call", turn: 1, callId: "1.1", wireId: "w", name: "Read", args: { path: "a" } },
  { type: "usage", turn: 1, usage, model: "m", stopReason: "tool-calls", durationMs: 1 },
  { type: "tool-intent", callId: "1.1", digest: "d", effect: "once", key: "k" },
  {
    type: "tool-result",
    callId: "1.1",
    outcome: { status: "ok", output: [{ type: "text", text: "b" }] },
    durationMs: 1,
  },
  { type: "steer", text: "And then?" },
  { type: "turn-end", turn: 1 },
]
const records = bodies.map((body, seq): RunRecord => ({ seq, at: seq, ...body }))

test("after the conversation is handed over, reading it throws and all else is still folded", () => {
  const [kept, given] = [new RunProjection(), new RunProjection()]
  expect(given.context.handOver()).toEqual([])
  for (const record of records) {
    kept.apply(record)
    given.apply(record)
  }
  expect(kept.messages.map(({ role }) => role)).toEqual(["assistant", "tool", "user"])
  expect(() => given.messages).toThrow("handed over")
  for (const projection of [kept, given]) {
    expect(projection).toMatchObject({ turns: 1, text: "Let me look.", route: { model: "m" }, nextSeq: records.length })
    expect([...projection.calls.values()]).toMatchObject([{ callId: "1.1", intent: "once", outcome: { status: "ok" } }])
    expect(projection.stepIsOpen).toBe(false)
  }
})

test("a handed-over conversation contains all messages so far", () => {
  const projection = new RunProjection()
  for (const record of records) projection.apply(record)
  expect(projection.context.handOver().map(({ message }) => message)).toMatchObject([
    { role: "assistant", content: [{ text: "Let me look." }, { callId: "1.1" }] },
    { role: "tool", content: [{ callId: "1.1", status: "ok" }] },
    { role: "user", content: [{ text: "And then?" }] },
  ])
})

test("the text of an answer that was not completed is not part of the conversation once the turn starts again", () => {
  const broken: readonly RecordBody[] = [
    { type: "turn-start", turn: 1 },
    { type: "text-end", turn: 1, id: "1.0", text: "Let me" },
    { type: "turn-start", turn: 1 },
    { type: "text-end", turn: 1, id: "1.0", text: "Let me look." },
    { type: "usage", turn: 1, usage, model: "m", stopReason: "end", durationMs: 1 },
  ]
  const { messages } = project(broken.map((body, seq): RunRecord => ({ seq, at: seq, ...body })))
  expect(messages).toMatchObject([{ role: "assistant", content: [{ text: "Let me look." }] }])
})

describe("the reservation of an unanswered turn", () => {
  const asked: RecordBody = { type: "turn-start", turn: 1, reserve: { tokens: 500, usd: 0.25 } }
  const spentAfter = (...after: RecordBody[]) =>
    project([asked, ...after].map((body, seq): RunRecord => ({ seq, at: seq, ...body }))).spent

  test("an unanswered reservation counts as spent after a resume, and only once", () => {
    const resumed: RecordBody = { type: "run-resume", cause: "recovery" }
    expect(spentAfter(resumed)).toMatchObject({ tokens: 500, usd: 0.25 })
    expect(spentAfter(resumed, resumed)).toMatchObject({ tokens: 500, usd: 0.25 })
  })

  test("an unanswered reservation counts as spent when the next turn starts", () => {
    expect(spentAfter({ type: "turn-start", turn: 1 })).toMatchObject({ tokens: 500, usd: 0.25 })
  })

  test("a reservation does not count if the turn was answered", () => {
    const answered: RecordBody = {
      type: "usage",
      turn: 1,
      usage: { ...usage, costUsd: 0.01 },
      model: "m",
      stopReason: "end",
      durationMs: 1,
    }
    expect(spentAfter(answered, { type: "run-resume", cause: "recovery" })).toMatchObject({ tokens: 2, usd: 0.01 })
  })
})

test("results of a step are ordered like its calls, whatever their order and duration", () => {
  const callIds = ["1.0", "1.1", "1.2"]
  const called = callIds.map(
    (callId): RecordBody => ({ type: "tool-call", turn: 1, callId, wireId: `w${callId}`, name: "Read", args: {} }),
  )
  const settled = (callId: string, durationMs: number): RecordBody => ({
    type: "tool-result",
    callId,
    outcome: { status: "ok", output: [{ type: "text", text: callId }] },
    durationMs,
  })
  const step: RecordBody[] = [
    { type: "turn-start", turn: 1 },
    ...called,
    { type: "usage", turn: 1, usage, model: "m", stopReason: "tool-calls", durationMs: 1 },
    settled("1.2", 2),
    settled("1.0", 3),
    settled("1.1", 1),
    { type: "turn-end", turn: 1 },
  ]
  const { messages } = project(step.map((body, seq): RunRecord => ({ seq, at: seq, ...body })))
  expect(messages.at(-1)).toMatchObject({ role: "tool", content: callIds.map((callId) => ({ callId })) })
})

describe("the time that a run has used", () => {
  const at = (time: number, body: RecordBody) => [time, body] as const
  const activeMs = (timed: readonly (readonly [number, RecordBody])[]) =>
    project(timed.map(([time, body], seq): RunRecord => ({ seq, at: time, ...body }))).activeMs

  test("the time of a run contains neither pauses nor the time after the death of a process", () => {
    const timed = [
      at(0, { type: "turn-start", turn: 1 }),
      at(100, { type: "run-pause", reason: "released" }),
      at(90_000, { type: "run-resume", cause: "recovery" }),
      at(90_050, { type: "turn-end", turn: 1 }),
      at(180_000, { type: "run-resume", cause: "recovery" }),
      at(180_007, { type: "turn-end", turn: 2 }),
    ]
    expect(activeMs(timed)).toBe(157)
  })

  test("the time of a run does not shrink when the clock is set back", () => {
    const turnEnd: RecordBody = { type: "turn-end", turn: 1 }
    expect(activeMs([at(1000, turnEnd), at(400, turnEnd), at(450, turnEnd)])).toBe(50)
  })
})

test("a fork folds a copied decision about a call of an agent, and owes it to no agent of its own", () => {
  const of = { agent: "a", callId: "1.0", tool: "Write" }
  const copied: readonly RecordBody[] = [
    {
      type: "run-start",
      runId: "fork",
      nodeId: "main",
      input: { messages: [], backend: "native", cwd: "." },
      tools: [],
      limits: { turns: 100 },
      forkOf: { runId: "original", nodeId: "main", at: 5 },
    },
    { type: "turn-start", turn: 1 },
    { type: "tool-call", turn: 1, callId: "1.1", wireId: "w", name: "Agent", args: {} },
    { type: "usage", turn: 1, usage, model: "m", stopReason: "tool-calls", durationMs: 1 },
    { type: "approval-request", callId: "1.1", digest: "d", ticket: "t", reason: "approval", question: "Write?", of },
    { type: "approval-result", callId: "1.1", digest: "d", decision: "approve", of },
  ]
  const { ask, agents } = project(copied.map((body, seq): RunRecord => ({ seq, at: seq, ...body })))
  expect([ask, agents.decisions.size]).toEqual([undefined, 0])
})
