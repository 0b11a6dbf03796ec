import { expect, test } from "vitest"
import type { ErrorCode, Failure } from "../contract/error.ts"
import { LonghaulError } from "../contract/error.ts"
import { createRetry, defaultRetry, parseRetryAfter } from "./retry.ts"

const failure = (code: ErrorCode, more: Partial<Failure> = {}) => new LonghaulError(code, "x", more).toJSON()

test("delays grow, are jittered between half and full, and end after the last attempt", () => {
  for (const [roll, share] of [
    [0, 0.5],
    [0.999999, 1],
  ] as const) {
    const retry = createRetry(defaultRetry, () => roll)
    const waits = Array.from({ length: 6 }, () => retry.delayAfter(failure("network")))
    expect(waits).toEqual([...[500, 1000, 2000, 4000, 8000].map((full) => Math.round(full * share)), null])
  }
})

test("a non-retryable failure is not retried", () => {
  expect(createRetry(defaultRetry).delayAfter(failure("auth"))).toBeNull()
})

test("five overloads in a row stop the retries; another failure in between restarts the count", () => {
  const retry = createRetry({ ...defaultRetry, attempts: 100 })
  const overloaded = () => retry.delayAfter(failure("overloaded"))
  for (let time = 0; time < 4; time++) expect(overloaded()).not.toBeNull()
  expect(retry.delayAfter(failure("network"))).not.toBeNull()
  for (let time = 0; time < 4; time++) expect(overloaded()).not.toBeNull()
  expect(overloaded()).toBeNull()
})

test("Retry-After is honoured exactly, unless it exceeds the maximum wait", () => {
  const retry = createRetry(defaultRetry)
  expect(retry.delayAfter(failure("rate_limited", { retryAfterMs: 7000 }))).toBe(7000)
  expect(retry.delayAfter(failure("rate_limited", { retryAfterMs: 3_600_000 }))).toBeNull()
})

test("Retry-After is parsed as seconds or as a date", () => {
  expect(parseRetryAfter("2")).toBe(2000)
  expect(parseRetryAfter("0.5")).toBe(500)
  expect(parseRetryAfter("Thu, 01 Jan 2026 00:00:10 GMT", Date.UTC(2026, 0, 1))).toBe(10_000)
  expect(parseRetryAfter("Thu, 01 Jan 1970 00:00:00 GMT")).toBe(0)
  expect(parseRetryAfter("soon")).toBeUndefined()
  expect(parseRetryAfter(undefined)).toBeUndefined()
})
