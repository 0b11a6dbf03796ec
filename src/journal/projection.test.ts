import { expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import { RunProjection } from "./projection.ts"

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

test("a conversation that was handed over is not kept: reading it throws, and everything else is folded on", () => {
  const [kept, given] = [new RunProjection(), new RunProjection()]
  expect(given.handOver()).toEqual([])
  for (const record of records) {
    kept.apply(record)
    given.apply(record)
  }
  expect(kept.messages.map(({ role }) => role)).toEqual(["assistant", "tool", "user"])
  expect(() => given.messages).toThrow("handed over")
  for (const projection of [kept, given]) {
    expect(projection).toMatchObject({ turns: 1, text: "Let me look.", model: "m", nextSeq: records.length })
    expect([...projection.calls.values()]).toMatchObject([{ callId: "1.1", intent: "once", outcome: { status: "ok" } }])
    expect(projection.stepIsOpen).toBe(false)
  }
})

test("what was given away is all that was said until then", () => {
  const projection = new RunProjection()
  for (const record of records) projection.apply(record)
  expect(projection.handOver()).toMatchObject([
    { role: "assistant", content: [{ text: "Let me look." }, { callId: "1.1" }] },
    { role: "tool", content: [{ callId: "1.1", status: "ok" }] },
    { role: "user", content: [{ text: "And then?" }] },
  ])
})
