import fc from "fast-check"
import { expect, test } from "vitest"
import { runUnder } from "../../../test/support/run-under.ts"
import { native } from "../../backends/native/index.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Reserve } from "../../contract/event.ts"
import type { Usage } from "../../contract/result.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import { createRuntime } from "../../index.ts"
import { resolveConfig } from "../../settings/config/config.ts"
import { memoryStore } from "../../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../testing/index.ts"
import { Ledger } from "./ledger.ts"

const usageOf = (tokens: number | null, costUsd: number | null): Usage => ({
  inputTokens: tokens,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd,
})
const never = new AbortController().signal
const call = { parts: [{ toolCall: { name: "look", args: {} } }] }

test("for random prices, failures and unreported usage, no limit is exceeded by more than one call", {
  tags: ["LOOP-09", "LOOP-10"],
}, async () => {
  const calls = fc.array(
    fc.record({
      bound: fc.integer({ min: 1, max: 500 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      ending: fc.constantFrom("answered", "failed", "untold"),
    }),
    { minLength: 1, maxLength: 60 },
  )
  let overshot = 0
  await fc.assert(
    fc.asyncProperty(
      calls,
      fc.integer({ min: 1, max: 2000 }),
      fc.integer({ min: 1, max: 8 }),
      async (list, limit, lanes) => {
        const ledger = new Ledger({ tokens: limit, usd: limit / 1000 })
        let largest = 0
        let let_in = 0
        const work = [...list]
        const lane = async () => {
          for (let next = work.shift(); next; next = work.shift()) {
            const bound = { tokens: next.bound, usd: next.bound / 1000 }
            let reserve: Reserve
            try {
              reserve = await ledger.reserve(bound, never)
            } catch (error) {
              expect(LonghaulError.is(error) && error.code).toBe("budget_exceeded")
              expect(ledger.spent.tokens).toBeGreaterThanOrEqual(limit)
              return
            }
            let_in++
            largest = Math.max(largest, next.bound)
            await Promise.resolve()
            const used = Math.floor(next.bound * next.share)
            if (next.ending === "failed") ledger.refund(reserve)
            else ledger.settle(reserve, next.ending === "untold" ? usageOf(null, null) : usageOf(used, used / 1000))
          }
        }
        await Promise.all(Array.from({ length: lanes }, lane))
        expect(let_in).toBeGreaterThan(0)
        expect(ledger.spent.tokens).toBeLessThan(limit + largest)
        expect(ledger.spent.usd).toBeLessThan((limit + largest) / 1000 + 1e-9)
        if (ledger.spent.tokens > limit) overshot++
      },
    ),
    { numRuns: 500 },
  )
  // The property is only meaningful if some runs exceed the limit.
  expect(overshot).toBeGreaterThan(0)
})

test("a $0.05 limit over 20 parallel runs of one ledger is exceeded by at most one reserved call", async () => {
  const ledger = new Ledger({ usd: 0.05 })
  const usage = { inputTokens: 0, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const step: ScriptedStep = async () => {
    await new Promise((done) => setTimeout(done, 1))
    if (Math.random() < 0.2) return { fail: new LonghaulError("network", "gone") }
    return { ...call, usage }
  }
  // Each answer costs a fifth of a cent; its reserve is at least twice that.
  const model = scriptedModel(Array(5000).fill(step))
  const store = memoryStore()
  const given: RuntimeConfig = {
    model,
    backend: native({ retry: { firstMs: 1, longestMs: 2 } }),
    limits: { turns: 1000, usd: 0.05 },
    resolvePricing: () => ({ input: 0.1, output: 20 }),
  }
  const config = resolveConfig(given, { store: () => store, backend: native, again: createRuntime })
  const results = await Promise.all(
    Array.from({ length: 20 }, () => {
      return runUnder(ledger, config, { task: "x", maxOutputTokens: 200 })
    }),
  )
  const spent = results.reduce((sum, { usage: { costUsd } }) => sum + (costUsd ?? 0), 0)
  const endings = new Set(results.map(({ error }) => error?.code))
  console.log(
    `20 runs under $0.05: $${spent.toFixed(4)} in ${results.reduce((sum, { turns }) => sum + turns, 0)} answers`,
  )
  expect([...endings].sort()).toEqual(endings.has("network") ? ["budget_exceeded", "network"] : ["budget_exceeded"])
  expect(spent).toBeCloseTo(ledger.spent.usd, 9)
  expect(spent).toBeGreaterThanOrEqual(0.05)
  // The bound of one answer: 200 output tokens, plus the short conversation.
  expect(spent).toBeLessThanOrEqual(0.05 + 0.004 + 0.002)
})

test("a run stops before the call that its budget does not allow, with its actual usage", {
  tags: ["LOOP-10"],
}, async () => {
  const usage = { inputTokens: 600, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const model = scriptedModel([
    { ...call, usage },
    { ...call, usage },
  ])
  const result = await createRuntime({ model }).run({ task: "x", limits: { tokens: 1000 } })
  expect(result).toMatchObject({
    status: "failed",
    data: null,
    turns: 2,
    error: { code: "budget_exceeded", message: "Token budget exceeded: 1200 of 1000 tokens were used." },
    usage: { inputTokens: 1200 },
  })
})

test("cost comes from resolvePricing, then the included table; an unknown price is null, never 0", {
  tags: ["HOST-02"],
}, async () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 1_000_000, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const step = { parts: [{ text: "ok" }], usage }
  const known = { ...scriptedModel([step, step]), provider: "anthropic", id: "claude-sonnet-4-5" }
  const asked: unknown[] = []
  const own = createRuntime({
    model: known,
    resolvePricing(model) {
      asked.push(model)
      return { input: 1, output: 2 }
    },
  })
  expect((await own.run({ task: "x" })).usage.costUsd).toBeCloseTo(3, 9)
  expect(asked).toEqual([{ provider: "anthropic", id: "claude-sonnet-4-5" }])
  expect((await createRuntime({ model: known }).run({ task: "x" })).usage.costUsd).toBeGreaterThan(3)
  expect((await createRuntime({ model: scriptedModel([step]) }).run({ task: "x" })).usage.costUsd).toBeNull()
})

test("concurrent runs request a price once, and again after a failure", async () => {
  let asked = 0
  const runtime = createRuntime({
    model: scriptedModel(["ok", "ok"]),
    async resolvePricing() {
      if (asked++ === 0) throw new Error("not yet")
      return { input: 1, output: 2 }
    },
  })
  const both = () => Promise.all(["a", "b"].map((task) => runtime.run({ task })))
  expect((await both()).map(({ status }) => status)).toEqual(["failed", "failed"])
  expect((await both()).map(({ status }) => status)).toEqual(["done", "done"])
  expect(asked).toBe(2)
})

test("a dollar limit with an unknown price is rejected, or a warning if requested", async () => {
  const refused = await createRuntime({ model: scriptedModel([]) }).run({ task: "x", limits: { usd: 1 } })
  expect(refused).toMatchObject({
    status: "failed",
    error: { code: "config_invalid", fix: expect.stringContaining("resolvePricing") },
  })
  const warned = createRuntime({ model: scriptedModel(["ok"]), unknownPrice: "warn" })
  expect(await warned.run({ task: "x", limits: { usd: 1 } })).toMatchObject({
    status: "done",
    warnings: [{ code: "price_unknown" }],
  })
})

test("the reservation of a turn is recorded before it, and released if nothing was answered", async () => {
  const model = scriptedModel([{ fail: new LonghaulError("auth", "no") }, "ok"])
  const runtime = createRuntime({ model })
  await runtime.run({ task: "x", runId: "r", limits: { tokens: 50_000 } })
  for await (const record of runtime.events("r")) {
    if (record.type === "turn-start") expect(record.reserve?.tokens).toBeGreaterThan(32_000)
  }
  const ledger = new Ledger({ tokens: 10 })
  ledger.refund(await ledger.reserve({ tokens: 100, usd: null }, never))
  expect(ledger.spent).toEqual({ tokens: 0, usd: 0 })
  await ledger.reserve({ tokens: 100, usd: null }, never)
  const aborted = new AbortController()
  const waiting = ledger.reserve({ tokens: 1, usd: null }, aborted.signal)
  aborted.abort()
  await waiting
})

test("a resumed run pays for a turn whose answer was lost with its process", async () => {
  const store = memoryStore()
  const asked = new Promise<void>((resolve) => {
    const model = scriptedModel([() => new Promise<never>(() => resolve())])
    void createRuntime({ store, model }).run({ task: "x", runId: "r", limits: { tokens: 1000 } })
  })
  await asked
  const model = scriptedModel(["ok"])
  const result = await createRuntime({ store, model }).resume({ runId: "r", takeover: true })
  expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
  expect(model.calls).toEqual([])
})

test("a reserve is bounded by the dearest way in which a call can be counted: written to a cache", async () => {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const reserveOf = async (cacheWrite: number) => {
    const runtime = createRuntime({
      model: scriptedModel([{ parts: [{ text: "ok" }], usage }]),
      resolvePricing: () => ({ input: 10, output: 0, cacheWrite }),
    })
    await runtime.run({ task: "x", runId: "r", limits: { usd: 100 } })
    for await (const record of runtime.events("r")) if (record.type === "turn-start") return record.reserve?.usd ?? 0
    return 0
  }
  const asInput = await reserveOf(1)
  expect(asInput).toBeGreaterThan(0)
  expect((await reserveOf(30)) / asInput).toBeCloseTo(3, 9)
})

test("a call whose tokens or cost its provider does not report counts as all that was reserved for it", async () => {
  const ledger = new Ledger({ usd: 1 })
  ledger.settle(await ledger.reserve({ tokens: 100, usd: 0.6 }, never), usageOf(null, null))
  expect(ledger.spent).toEqual({ tokens: 100, usd: 0.6 })
  ledger.settle(await ledger.reserve({ tokens: 100, usd: 0.6 }, never), usageOf(10, null))
  expect(ledger.spent).toEqual({ tokens: 110, usd: 1.2 })
})

test("the reserve of a turn is durable before the model is asked", async () => {
  const store = memoryStore()
  const reserves: unknown[] = []
  const model = scriptedModel([
    async () => {
      const reader = createRuntime({ store, model: scriptedModel([]) })
      for await (const record of reader.events("r")) if (record.type === "turn-start") reserves.push(record.reserve)
      return { parts: [{ text: "ok" }] }
    },
  ])
  await createRuntime({ store, model }).run({ task: "x", runId: "r", limits: { tokens: 50_000 } })
  expect(reserves).toEqual([{ tokens: expect.any(Number), usd: null }])
})

test("the reserve of a turn that was not answered comes back to a shared ledger", async () => {
  const ledger = new Ledger({ tokens: 10 })
  const given: RuntimeConfig = {
    model: scriptedModel([{ fail: new LonghaulError("auth", "no") }]),
    limits: { tokens: 10 },
  }
  const config = resolveConfig(given, { store: memoryStore, backend: native, again: createRuntime })
  expect(await runUnder(ledger, config, { task: "x" })).toMatchObject({ error: { code: "auth" } })
  // A call would have to wait if anything were still reserved.
  const next = ledger.reserve({ tokens: 1, usd: null }, never)
  const waits = new Promise((resolve) => setImmediate(resolve, "waits"))
  expect(await Promise.race([next, waits])).toEqual({ tokens: 1, usd: null })
})

test("a fork does not pay for the calls that it copied", async () => {
  const usage = { inputTokens: 600, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
  const model = scriptedModel([
    { ...call, usage },
    { ...call, usage },
    { parts: [{ text: "ok" }], usage },
  ])
  const runtime = createRuntime({ model, limits: { tokens: 1000 } })
  expect(await runtime.run({ task: "x", runId: "r" })).toMatchObject({ error: { code: "budget_exceeded" } })
  const fork = await runtime.fork("r")
  expect(await runtime.resume({ ...fork, answer: "Go on." })).toMatchObject({ status: "done", text: "ok" })
})
