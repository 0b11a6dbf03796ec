import { expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import { project } from "./projection.ts"
import { flagUnknown } from "./recover.ts"
import { resultOf } from "./result.ts"

const called = (callId: string, name = "Read"): RecordBody => ({ type: "tool-call", turn: 1, callId, name, args: {} })
const finished = (callId: string): RecordBody => ({
  type: "tool-result",
  callId,
  outcome: { status: "ok", output: [] },
  durationMs: 0,
})
const begun = (callId: string): RecordBody => ({
  type: "tool-intent",
  callId,
  digest: "d",
  effect: "once",
  key: callId,
})
const folded = (bodies: readonly RecordBody[]) =>
  project(bodies.map((body, seq): RunRecord => ({ seq, at: seq, ...body })))

test("a result has the newest 1,000 calls, the number of all, and every server that any of them used", () => {
  const bodies = Array.from({ length: 1500 }, (_, index) => {
    const callId = `${index}.0`
    return [called(callId, index === 0 ? "mcp:docs/search" : "Read"), finished(callId)]
  })
  const result = resultOf(folded(bodies.flat()), { workspaceId: "default", path: "", lastShard: 0 })
  expect(result.toolCalls).toHaveLength(1000)
  expect(result.toolCalls[0]?.id).toBe("500.0")
  expect(result.toolCalls.at(-1)?.id).toBe("1499.0")
  expect(result.toolCallCount).toBe(1500)
  expect(result.capabilitiesUsed.mcpServersUsed).toEqual(["docs"])
})

test("a started call without a result is flagged however many calls followed", () => {
  const later = Array.from({ length: 2500 }, (_, index) => [called(`${index + 1}.0`), finished(`${index + 1}.0`)])
  const run = folded([called("0.0", "pay"), begun("0.0"), ...later.flat()])
  expect(flagUnknown(run)).toMatchObject([{ callId: "0.0", outcome: { status: "unknown" } }])
  expect([...run.calls.values()]).toHaveLength(1000)
})

const ofNoCall: readonly RecordBody[] = [
  begun("gone"),
  finished("gone"),
  { type: "tool-question", callId: "gone", question: "Go on?", state: null },
  { type: "approval-result", callId: "gone", digest: "d", decision: "approve" },
  { type: "policy-decision", callId: "gone", verdict: "allow", reasons: [], args: {} },
]

test.each(ofNoCall)("a $type about a call that is no longer known changes no other call", (record) => {
  const run = folded([called("0.0"), begun("0.0"), record])
  expect([...run.calls.values()]).toEqual([...folded([called("0.0"), begun("0.0")]).calls.values()])
})

test("a run keeps its newest 1,000 warnings", () => {
  const warnings = Array.from(
    { length: 1200 },
    (_, index): RecordBody => ({ type: "warning", code: "w", message: `${index}` }),
  )
  expect(
    folded(warnings)
      .warnings.map(({ message }) => message)
      .slice(0, 1),
  ).toEqual(["200"])
})
