import { expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import { project } from "./projection.ts"
import { pendingOf, resultOf } from "./result.ts"

const note: RecordBody = { type: "warning", code: "note", message: "x" }
const recordsAt = (...times: number[]): RunRecord[] => times.map((at, seq) => ({ seq, at, ...note }))
const durationOf = (...times: number[]) =>
  resultOf(project(recordsAt(...times)), { workspaceId: "default", path: "", lastShard: 0 }).durationMs

test("the duration of a run spans its first to its last record", () => {
  expect(durationOf(5000)).toBe(0)
  expect(durationOf(5000, 5200, 5200, 6000)).toBe(1000)
})

test("a clock set back during a run does not shorten its duration", () => {
  expect(durationOf(5000, 5200, 1000, 1300)).toBe(500)
  expect(durationOf(5000, 0)).toBe(0)
})

const asked: readonly RecordBody[] = [
  { type: "turn-start", turn: 1 },
  { type: "tool-call", turn: 1, callId: "1.0", name: "pay", args: { amount: 3 } },
  { type: "approval-request", callId: "1.0", digest: "d", ticket: "t", reason: "approval", question: "Pay?" },
]
const answered: readonly RecordBody[] = [
  { type: "approval-result", callId: "1.0", digest: "d", decision: "deny" },
  { type: "tool-result", callId: "1.0", outcome: { status: "denied", output: [] }, durationMs: 0 },
]
const runOf = (...bodies: readonly RecordBody[]) => project(bodies.map((body, seq) => ({ seq, at: seq, ...body })))
const resultWith = (...bodies: readonly RecordBody[]) =>
  resultOf(runOf(...bodies), { workspaceId: "default", path: "", lastShard: 0 })

test("a call that has its result is pending no more, also if the run pauses afterwards for another reason", () => {
  expect(pendingOf(runOf(...asked))).toMatchObject({ id: "1.0", name: "pay", question: "Pay?" })
  const released = resultWith(...asked, ...answered, { type: "run-pause", reason: "released" })
  expect(released).toMatchObject({ status: "paused", data: null, pause: { pendingToolCall: null } })
})

test("a call without a result says whether the run is paused before it, works on it, or has ended", () => {
  const errorOf = (...last: readonly RecordBody[]) => resultWith(...asked, ...last).toolCalls[0]?.error
  expect(errorOf({ type: "run-pause", reason: "approval" })).toBe("The run is paused before this call.")
  expect(errorOf()).toBe("This call is in progress.")
  expect(errorOf({ type: "run-end", status: "cancelled" })).toBe("The run ended before this call had a result.")
})
