import { afterEach, expect, test, vi } from "vitest"
import { native } from "../../src/backends/native/index.ts"
import { type Served, serve } from "../../src/hosts/node/http/serve.ts"
import { createRuntime, type RunEvent } from "../../src/index.ts"
import { anthropic } from "../../src/providers/anthropic/index.ts"
import { createSimulator, type FaultOrder, type SimulatedAnswer } from "../../src/testing/index.ts"

let server: Served | undefined
afterEach(() => server?.close())

/** A whole run against a faulty model server on loopback. */
async function runAgainst(faults: readonly (FaultOrder | null)[], answer: SimulatedAnswer = "Here it is.") {
  const simulator = createSimulator({ script: () => answer, faults })
  server = await serve(simulator.fetch)
  const runtime = createRuntime({
    model: anthropic({ model: "claude-test", apiKey: "key", baseUrl: server.url }),
    backend: native({ retry: { firstMs: 1, longestMs: 4 } }),
  })
  const events: RunEvent[] = []
  const result = await runtime.run({ task: "Say it", onEvent: (event) => events.push(event) })
  const retries = events.flatMap((event) => (event.type === "retry" ? [event] : []))
  return { result, retries, requests: simulator.requests.length }
}

const times = (count: number, fault: FaultOrder) => Array.from({ length: count }, () => fault)

test("429 is tried six times, then the run fails as rate_limited, retryable", { tags: ["FAIL-16"] }, async () => {
  const { result, retries, requests } = await runAgainst(times(9, { kind: "status", status: 429 }))
  expect(result).toMatchObject({ status: "failed", data: null, error: { code: "rate_limited", retryable: true } })
  expect(result.error?.requestId).toBe("req_sim_000005")
  expect(requests).toBe(6)
  expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5])
})

test("Retry-After is honoured, and the run continues", { tags: ["FAIL-16"] }, async () => {
  const timers = vi.spyOn(globalThis, "setTimeout")
  const { result, retries, requests } = await runAgainst([{ kind: "status", status: 429, retryAfter: "1" }])
  expect(result).toMatchObject({ status: "done", text: "Here it is.", turns: 1 })
  expect(retries).toMatchObject([{ attempt: 1, delayMs: 1000, failure: { code: "rate_limited", retryAfterMs: 1000 } }])
  expect(timers.mock.calls.map(([, delayMs]) => delayMs)).toContain(1000)
  timers.mockRestore()
  expect(requests).toBe(2)
})

test.each([500, 502, 503])(
  "%i after retries fails the run as provider_error, retryable",
  { tags: ["FAIL-17"] },
  async (status) => {
    const { result, requests } = await runAgainst(times(9, { kind: "status", status }))
    expect(result).toMatchObject({ status: "failed", error: { code: "provider_error", retryable: true } })
    expect(requests).toBe(6)
  },
)

test("five 529s in a row fail the run as overloaded, with exactly five requests", { tags: ["FAIL-18"] }, async () => {
  const { result, requests } = await runAgainst(times(9, { kind: "status", status: 529 }))
  expect(result).toMatchObject({ status: "failed", error: { code: "overloaded", retryable: true } })
  expect(requests).toBe(5)
})

test("a run with four overloads in a row and then an answer is done", { tags: ["FAIL-18"] }, async () => {
  const { result, requests } = await runAgainst(times(4, { kind: "status", status: 529 }))
  expect(result).toMatchObject({ status: "done", text: "Here it is." })
  expect(requests).toBe(5)
})

test.each([401, 403])(
  "%i fails the run as auth at the first request, not retryable",
  { tags: ["FAIL-19"] },
  async (status) => {
    const { result, requests } = await runAgainst(times(2, { kind: "status", status }))
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "auth", retryable: false, fix: expect.stringContaining("ANTHROPIC_API_KEY") },
    })
    expect(requests).toBe(1)
  },
)

test("a malformed stream fails the run as stream_malformed, not retryable", { tags: ["FAIL-21"] }, async () => {
  const { result, requests } = await runAgainst(times(2, { kind: "malformed" }))
  expect(result).toMatchObject({ status: "failed", error: { code: "stream_malformed", retryable: false } })
  expect(requests).toBe(1)
})

test("a stream that ends too early is stream_incomplete: retried, then failed", { tags: ["FAIL-22"] }, async () => {
  const cut: FaultOrder = { kind: "cut", atByte: 600 }
  const recovered = await runAgainst([cut])
  expect(recovered.result).toMatchObject({ status: "done", text: "Here it is." })
  expect(recovered.retries).toMatchObject([{ failure: { code: "stream_incomplete" } }])
  await server?.close()
  const lost = await runAgainst(times(9, cut))
  expect(lost.result).toMatchObject({ status: "failed", error: { code: "stream_incomplete", retryable: true } })
  expect(lost.requests).toBe(6)
})

test("an unknown stop reason fails the run as unexpected_stop, and names it", { tags: ["FAIL-23"] }, async () => {
  const { result, requests } = await runAgainst([], { parts: [{ text: "Hm" }], wireStopReason: "bored" })
  expect(result).toMatchObject({
    status: "failed",
    error: { code: "unexpected_stop", message: expect.stringContaining("bored") },
  })
  expect(requests).toBe(1)
})
