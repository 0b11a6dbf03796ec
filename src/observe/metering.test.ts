import { expect, test } from "vitest"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import type { Usage } from "../contract/result.ts"
import { Metering } from "./metering.ts"

const usage = (more: Partial<Usage> = {}): Usage => ({
  inputTokens: 100,
  outputTokens: 10,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd: null,
  ...more,
})

const answered = (turn: number, more: Partial<Usage> = {}, durationMs?: number): RecordBody => ({
  type: "usage",
  turn,
  usage: usage(more),
  model: "m-2026",
  stopReason: "end",
  ...(durationMs !== undefined && { durationMs }),
})

function fold(...timed: readonly (readonly [at: number, body: RecordBody])[]) {
  const metering = new Metering()
  return timed.flatMap(([at, body], seq) => metering.metricsOf({ seq, at, ...body } as RunRecord))
}

const choice: RecordBody = { type: "choice", backend: "native", model: "p:m", reasons: [] }

test("a request metric starts with its turn and ends with its usage", () => {
  const metrics = fold(
    [1, choice],
    [5, { type: "turn-start", turn: 1 }],
    [30, answered(1)],
    [31, { type: "turn-end", turn: 1 }],
  )
  expect(metrics).toEqual([
    { type: "request-start", at: 5, backend: "native", model: "p:m", turn: 1 },
    { type: "request-end", at: 30, backend: "native", model: "m-2026", turn: 1, durationMs: 25, usage: usage() },
    { type: "cost-add", costUsd: null, totalUsd: null, usage: usage() },
  ])
})

test("the backend's own request duration takes precedence", () => {
  const [, end] = fold([5, { type: "turn-start", turn: 1 }], [30, answered(1, {}, 12)])
  expect(end).toMatchObject({ type: "request-end", durationMs: 12 })
})

test("a failed attempt and its delay are not part of the answered request", () => {
  const failure = { code: "overloaded", message: "x", retryable: true } as const
  const [, end] = fold(
    [5, { type: "turn-start", turn: 1 }],
    [20, { type: "retry", turn: 1, attempt: 1, delayMs: 500, failure }],
    [527, answered(1)],
  )
  expect(end).toMatchObject({ type: "request-end", durationMs: 7 })
})

test("the model is unknown before it is reported, and a session may report another one", () => {
  const ref = { backend: "other", version: "1", id: "s", cwd: "/", resumable: false }
  const [unnamed, named] = fold(
    [1, { type: "choice", backend: "other", reasons: [] }],
    [2, { type: "turn-start", turn: 1 }],
    [3, { type: "session", ref, model: "theirs" }],
    [4, { type: "turn-start", turn: 2 }],
  )
  expect(unnamed).toMatchObject({ backend: "other", model: null })
  expect(named).toMatchObject({ backend: "other", model: "theirs" })
})

test("caching is reported only if the provider reports it", () => {
  const cached = (cacheReadTokens: number | null) =>
    fold([1, answered(1, { cacheReadTokens })]).filter(({ type }) => type.startsWith("cache"))
  expect(cached(7)).toEqual([{ type: "cache-hit", readTokens: 7 }])
  expect(cached(0)).toEqual([{ type: "cache-miss" }])
  expect(cached(null)).toEqual([])
})

test("cost and usage are summed over the run until one is unknown", () => {
  const costs = fold(
    [1, answered(1, { costUsd: 0.25, cacheReadTokens: 1 })],
    [2, answered(2, { costUsd: 0.5, cacheReadTokens: 2 })],
    [3, answered(3, { cacheReadTokens: 3 })],
    [4, answered(4, { costUsd: 1 })],
  ).filter((metric) => metric.type === "cost-add")
  expect(costs.map(({ costUsd, totalUsd }) => [costUsd, totalUsd])).toEqual([
    [0.25, 0.25],
    [0.5, 0.75],
    [null, null],
    [1, null],
  ])
  expect(costs.map(({ usage }) => [usage.inputTokens, usage.cacheReadTokens])).toEqual([
    [100, 1],
    [200, 3],
    [300, 6],
    [400, null],
  ])
})
