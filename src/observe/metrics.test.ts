import fc from "fast-check"
import { expect, test } from "vitest"
import type { RecordBody, RunEvent, RunRecord } from "../contract/event.ts"
import type { Usage } from "../contract/result.ts"
import type { ToolStatus } from "../contract/tool.ts"
import { Histogram } from "./histogram.ts"
import { createMetricsObserver, type MetricsSnapshot } from "./metrics.ts"

type Timed = readonly [at: number, body: RecordBody]
type Told = readonly [event: RunEvent, runId: string]

const start: RecordBody = {
  type: "run-start",
  runId: "told apart by the observed run",
  nodeId: "main",
  input: { messages: [], backend: "native", cwd: "/" },
  tools: [],
  limits: { turns: 5 },
}
const end = (status: "done" | "failed" | "cancelled", code?: "max_turns" | "cancelled"): RecordBody => ({
  type: "run-end",
  status,
  ...(code && { error: { code, message: "x", retryable: false } }),
})
const call = (callId: string, name: string): RecordBody => ({ type: "tool-call", turn: 1, callId, name, args: {} })
const result = (callId: string, status: ToolStatus): RecordBody => ({
  type: "tool-result",
  callId,
  outcome: { status, output: [] },
  durationMs: 1,
})
const answered = (usage: Partial<Usage>): RecordBody => ({
  type: "usage",
  turn: 1,
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: null, cacheWriteTokens: null, costUsd: null, ...usage },
  model: "m",
  stopReason: "end",
})

function told(runId: string, timed: readonly Timed[]): readonly Told[] {
  return timed.map(([at, body], seq) => [{ seq, at, ...body } as RunRecord, runId])
}

function observe(...events: readonly Told[]) {
  const observer = createMetricsObserver()
  for (const [event, runId] of events) observer.recordEvent(event, { workspaceId: "default", runId, nodeId: "main" })
  return observer
}

test("the metrics observer counts a run from start to end", () => {
  const snapshot = observe(
    ...told("a", [
      [0, start],
      [1, { type: "choice", backend: "native", model: "p:m", reasons: [] }],
      [10, { type: "turn-start", turn: 1 }],
      [12, { type: "retry", turn: 1, attempt: 1, delayMs: 5, failure: failed("overloaded") }],
      [20, call("1.0", "Read")],
      [20, call("1.1", "Write")],
      [20, call("1.2", "Write")],
      [20, answered({ inputTokens: 100, outputTokens: 7, cacheReadTokens: 0, cacheWriteTokens: 50, costUsd: 0.5 })],
      [21, result("1.0", "ok")],
      [22, result("1.1", "error")],
      [23, result("1.2", "denied")],
      [110, { type: "turn-end", turn: 1 }],
      [110, { type: "turn-start", turn: 2 }],
      [120, answered({ inputTokens: 30, outputTokens: 3, cacheReadTokens: 50 })],
      [310, { type: "turn-end", turn: 2 }],
      [311, end("failed", "max_turns")],
    ]),
  ).snapshot()
  const { turns, ...sums } = snapshot
  expect(sums).toEqual({
    runs: { started: 1, done: 0, failed: 1, cancelled: 0, paused: 0, active: 0 },
    events: 16,
    tokens: { input: 130, output: 10, cacheRead: 50, cacheWrite: 50 },
    costUsd: 0.5,
    unpricedCalls: 1,
    cache: { hits: 1, misses: 1, hitRatio: 0.5, readTokens: 50 },
    tools: { callsByName: { Read: 1, Write: 2 }, errorsByName: { Write: 1 }, deniedByName: { Write: 1 } },
    approvals: { pending: 0, granted: 0, denied: 0 },
    errors: { total: 2, byCode: { overloaded: 1, max_turns: 1 } },
  } satisfies Omit<MetricsSnapshot, "turns">)
  expect(turns.count).toBe(2)
  expectWithin(turns.p50Ms, 100)
  expectWithin(turns.p95Ms, 200)
})

test("without events all counts are zero and no ratio or percentile is reported", () => {
  const { turns, cache, runs } = observe().snapshot()
  expect(turns).toEqual({ count: 0, p50Ms: null, p95Ms: null })
  expect(cache.hitRatio).toBeNull()
  expect(runs.active).toBe(0)
})

test("a started run is active or has one of four endings", () => {
  const pause: RecordBody = { type: "run-pause", reason: "approval" }
  const resume: RecordBody = { type: "run-resume", cause: "decision" }
  const observer = observe(
    ...told("done", [[0, start]]),
    ...told("paused", [
      [0, start],
      [1, pause],
    ]),
    ...told("resumed", [
      [0, start],
      [1, pause],
      [2, resume],
    ]),
    ...told("taken over", [[0, { type: "run-resume", cause: "takeover" }]]),
    ...told("lost and recovered", [
      [0, start],
      [1, { type: "run-resume", cause: "recovery" }],
    ]),
    ...told("cancelled", [
      [0, start],
      [1, end("cancelled", "cancelled")],
    ]),
    ...told("done", [[1, end("done")]]),
  )
  const { runs, errors } = observer.snapshot()
  expect(runs).toEqual({ started: 7, done: 1, failed: 0, cancelled: 1, paused: 2, active: 3 })
  expect(errors.total).toBe(0)
})

test("nodes of one run count as separate runs", () => {
  const observer = createMetricsObserver()
  for (const nodeId of ["main", "helper"]) {
    observer.recordEvent({ seq: 0, at: 0, ...start } as RunRecord, { workspaceId: "default", runId: "a", nodeId })
  }
  expect(observer.snapshot().runs).toMatchObject({ started: 2, active: 2 })
})

test("the result of a call that another process started is counted", () => {
  const { tools } = observe(
    ...told("a", [
      [0, { type: "run-resume", cause: "takeover" }],
      [1, result("1.0", "unknown")],
    ]),
  ).snapshot()
  expect(tools.errorsByName).toEqual({ other: 1 })
})

test("tool names invented by a model do not accumulate without bound", () => {
  const names = [
    ...Array.from({ length: 5000 }, (_, index) => `tool ${index}`),
    "tool 0",
    "__proto__",
    "x".repeat(1000),
  ]
  const { callsByName } = observe(
    ...told(
      "a",
      names.map((name, index) => [0, call(String(index), name)]),
    ),
  ).snapshot().tools
  expect(Object.keys(callsByName).length).toBe(101)
  expect(callsByName).toMatchObject({ "tool 0": 2, "tool 99": 1, other: 4902 })
})

test("runs without an end event do not accumulate without bound", () => {
  const observer = createMetricsObserver()
  const event = { seq: 0, at: 0, ...start } as RunRecord
  for (let run = 0; run < 65_540; run++)
    observer.recordEvent(event, { workspaceId: "default", runId: String(run), nodeId: "main" })
  expect(observer.snapshot().runs).toMatchObject({ started: 65_540, active: 65_536 })
})

test("reset clears the totals but not the active runs", () => {
  const observer = observe(
    ...told("a", [
      [0, start],
      [0, { type: "turn-start", turn: 1 }],
      [1, answered({ inputTokens: 5, costUsd: 1 })],
    ]),
  )
  observer.reset()
  expect(observer.snapshot()).toMatchObject({ events: 0, costUsd: 0, tokens: { input: 0 }, runs: { active: 1 } })
  observer.recordEvent(
    { seq: 3, at: 50, type: "turn-end", turn: 1 },
    { workspaceId: "default", runId: "a", nodeId: "main" },
  )
  expect(observer.snapshot().turns.count).toBe(1)
})

test("percentiles are within 1 % of the exact ones", () => {
  fc.assert(
    fc.property(fc.array(durations(), { minLength: 1, maxLength: 400 }), (values) => {
      const histogram = new Histogram()
      for (const value of values) histogram.add(value)
      const sorted = values.toSorted((left, right) => left - right)
      for (const share of [0, 0.5, 0.95, 1]) {
        const exact = sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] as number
        expectWithin(histogram.percentile(share), exact)
      }
    }),
  )
})

test("an absurdly long or negative duration is tolerated", () => {
  const histogram = new Histogram()
  for (const value of [-5, 0.4, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) histogram.add(value)
  expect(histogram.count).toBe(4)
  expect(histogram.percentile(0.5)).toBe(0)
  expectWithin(histogram.percentile(1), 30 * 24 * 3_600_000)
})

test("totals do not depend on interleaving or on splitting runs among observers", () => {
  fc.assert(
    fc.property(fc.array(runs(), { maxLength: 6 }), fc.infiniteStream(fc.nat()), (sequences, picks) => {
      const streams = sequences.map((timed, index) => told(`run ${index}`, timed))
      const inOrder = observe(...streams.flat()).snapshot()
      expect(observe(...interleave(streams, picks)).snapshot()).toEqual(inOrder)

      const apart = streams.map((stream) => observe(...stream).snapshot())
      expect(numbersOf(inOrder)).toEqual(apart.map(numbersOf).reduce(addUp, numbersOf(observe().snapshot())))
    }),
  )
})

function failed(code: "overloaded") {
  return { code, message: "x", retryable: true }
}

function expectWithin(told: number | null, exact: number): void {
  expect(Math.abs((told as number) - exact)).toBeLessThanOrEqual(exact * 0.01)
}

/** Whole milliseconds, short and long equally likely. */
function durations(): fc.Arbitrary<number> {
  return fc.oneof(fc.nat(20), fc.nat(5000), fc.nat(30 * 24 * 3_600_000))
}

/** Costs are sixteenths, whose sums are exact in any order. */
function runs(): fc.Arbitrary<readonly Timed[]> {
  const tokens = fc.option(fc.nat(1000))
  const usage = fc
    .record({
      inputTokens: tokens,
      outputTokens: tokens,
      cacheReadTokens: tokens,
      cacheWriteTokens: tokens,
      costUsd: fc.option(fc.nat(64).map((sixteenths) => sixteenths / 16)),
    })
    .map(answered)
  const body: fc.Arbitrary<RecordBody> = fc.oneof(
    usage,
    fc.constantFrom<RecordBody>({ type: "turn-start", turn: 1 }, { type: "turn-end", turn: 1 }),
    fc.constantFrom("Read", "Write").map((name) => call("c", name)),
    fc.constantFrom<ToolStatus>("ok", "error", "denied", "unknown").map((status) => result("c", status)),
    fc.constant<RecordBody>({ type: "retry", turn: 1, attempt: 1, delayMs: 1, failure: failed("overloaded") }),
  )
  const last = fc.constantFrom(end("done"), end("failed", "max_turns"), end("cancelled", "cancelled"), undefined)
  return fc.tuple(fc.array(body, { maxLength: 20 }), last, fc.nat(1000)).map(([bodies, last, step]) => {
    const all = [start, ...bodies, ...(last ? [last] : [])]
    return all.map((each, index) => [index * step, each] as const)
  })
}

/** One event at a time, from a random run; each run keeps its order. */
function interleave(streams: readonly (readonly Told[])[], picks: fc.Stream<number>): readonly Told[] {
  const left = streams.map((stream) => [...stream]).filter((stream) => stream.length > 0)
  const merged: Told[] = []
  while (left.length > 0) {
    const pick = picks.next().value as number
    const stream = left[pick % left.length] as Told[]
    merged.push(stream.shift() as Told)
    if (stream.length === 0) left.splice(left.indexOf(stream), 1)
  }
  return merged
}

type Numbers = Readonly<Record<string, number>>

/** Every total of a snapshot, by its path, without ratios and percentiles. */
function numbersOf({ turns, cache: { hitRatio: _, ...cache }, ...rest }: MetricsSnapshot): Numbers {
  const flat: Record<string, number> = { turns: turns.count }
  const add = (value: object, path: string) => {
    for (const [key, each] of Object.entries(value)) {
      if (typeof each === "number") flat[`${path}/${key}`] = each
      else add(each, `${path}/${key}`)
    }
  }
  add({ ...rest, cache }, "")
  return flat
}

function addUp(sum: Numbers, more: Numbers): Numbers {
  const keys = new Set([...Object.keys(sum), ...Object.keys(more)])
  return Object.fromEntries(Array.from(keys, (key) => [key, (sum[key] ?? 0) + (more[key] ?? 0)]))
}
