import { expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import { project } from "./projection.ts"
import { resultOf } from "./result.ts"

const note: RecordBody = { type: "warning", code: "note", message: "x" }
const recordsAt = (...times: number[]): RunRecord[] => times.map((at, seq) => ({ seq, at, ...note }))
const durationOf = (...times: number[]) => resultOf(project(recordsAt(...times)), { path: "", lastShard: 0 }).durationMs

test("the duration of a run spans its first to its last record", () => {
  expect(durationOf(5000)).toBe(0)
  expect(durationOf(5000, 5200, 5200, 6000)).toBe(1000)
})

test("a clock set back during a run does not shorten its duration", () => {
  expect(durationOf(5000, 5200, 1000, 1300)).toBe(500)
  expect(durationOf(5000, 0)).toBe(0)
})
