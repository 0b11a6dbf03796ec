import { describe, expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { Extension, SampleRequest } from "../../contract/extension.ts"
import type { Model } from "../../contract/provider.ts"
import type { ResumeInput, RuntimeConfig } from "../../contract/run.ts"
import type { Store } from "../../contract/store.ts"
import { createRuntime } from "../../index.ts"
import { project } from "../../journal/projection.ts"
import { Spending } from "../../journal/spending.ts"
import { noUsage, totalTokens } from "../../lib/usage.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"

const request: SampleRequest = {
  source: "mcp:scene",
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  maxOutputTokens: 5000,
}

/** Asks the model when it is opened, and reports what became of it. */
function asking(ends: unknown[] = []): Extension {
  return {
    name: "probe",
    async open({ sample }) {
      ends.push(await sample?.(request).catch((error: Error) => error.message))
      return {}
    },
  }
}

const idle: Extension = { name: "probe", open: async () => ({}) }

function runtimeOver(store: Store, model: Model, extension: Extension, config: RuntimeConfig = {}) {
  return createRuntime({
    model,
    store,
    extensions: [extension],
    resolvePricing: () => ({ input: 1, output: 2 }),
    ...config,
  })
}

async function recordsOf(store: Store): Promise<RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of createRuntime({ store }).events("r", { follow: false })) records.push(record)
  return records
}

/** A model that never answers; `asked` resolves when it was called. */
function hanging(): { readonly model: Model; readonly asked: Promise<void> } {
  let ask = () => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  const call = () => {
    ask()
    return new Promise<never>(() => {})
  }
  return { model: { provider: "p", id: "m", converse: () => ({ call }) }, asked }
}

const failing: Model = {
  provider: "p",
  id: "m",
  converse: () => ({ call: () => Promise.reject(new Error("The provider refused.")) }),
}

function refusingFirst(model: Model): Model {
  let calls = 0
  return { ...model, converse: (setup) => (calls++ === 0 ? failing : model).converse(setup) }
}

describe("a request of an extension to the model, in a run with a limit", () => {
  test("the request of an extension is reserved durably before it is sent, and settled by its usage", async () => {
    const store = memoryStore()
    const during: RunRecord[][] = []
    const scripted = scriptedModel(["sampled", "done"])
    const watching: Model = {
      ...scripted,
      converse(setup) {
        const conversation = scripted.converse(setup)
        return {
          async call(...given) {
            during.push(await recordsOf(store))
            return conversation.call(...given)
          },
        }
      },
    }
    const runtime = runtimeOver(store, watching, asking(), { limits: { tokens: 1000 } })
    expect(await runtime.run({ task: "x", runId: "r" })).toMatchObject({ status: "done" })
    const start = during[0]?.find(({ type }) => type === "sample-start")
    expect(start).toMatchObject({ source: "mcp:scene", reserve: { tokens: expect.any(Number) } })
    const metering = (await recordsOf(store)).find(({ type }) => type === "metering")
    expect(metering).toMatchObject({ source: "mcp:scene", sample: start && "sample" in start && start.sample })
  })

  test.each([
    ["tokens", { tokens: 1000 }],
    ["dollars", { usd: 0.005 }],
  ])(
    "the request of an extension counts with its whole reserve if the process dies before the answer: %s",
    async (_, limits) => {
      const store = memoryStore()
      const { model, asked } = hanging()
      void runtimeOver(store, model, asking(), { limits }).run({ task: "x", runId: "r" })
      await asked
      const resumed = await resumedOver(store, { runId: "r", takeover: true })
      expect(resumed).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
    },
  )

  test.each([
    ["after its answer", scriptedModel(["sampled", "done"])],
    ["if the provider refuses it", refusingFirst(scriptedModel(["done"]))],
  ])("the request of an extension counts with its usage and not with its reserve %s", async (_, model) => {
    const store = memoryStore()
    const ends: unknown[] = []
    const runtime = runtimeOver(store, model, asking(ends), { limits: { tokens: 1000 } })
    const result = await runtime.run({ task: "x", runId: "r" })
    expect([result.status, ends.length]).toEqual(["done", 1])
    const { spent, usage } = project(await recordsOf(store))
    spent.lose()
    expect([spent.tokens, spent.usd]).toEqual([totalTokens(usage), usage.costUsd])
    expect(spent.tokens).toBeLessThan(request.maxOutputTokens)
  })

  test("the request of an extension counts with its whole reserve if its answer is cut", async () => {
    const store = memoryStore()
    let calls = 0
    const scripted = scriptedModel(["done"])
    const cut: Model = {
      ...scripted,
      converse: (setup) => ({
        async call(messages, sink, signal) {
          if (calls++ > 0) return scripted.converse(setup).call(messages, sink, signal)
          sink.accepted?.()
          throw new LonghaulError("network", "cut")
        },
      }),
    }
    const result = await runtimeOver(store, cut, asking([]), { limits: { tokens: 1000 } }).run({
      task: "x",
      runId: "r",
    })
    expect(result.status).toBe("failed")
    const records = await recordsOf(store)
    const start = records.find(({ type }) => type === "sample-start")
    const { spent } = project(records)
    expect(spent.tokens).toBe(start?.type === "sample-start" ? start.reserve.tokens : undefined)
    expect(result.error?.code).toBe("budget_exceeded")
  })

  test("the request of an extension counts with its whole reserve if the run is stopped before the answer", async () => {
    const store = memoryStore()
    const { model, asked } = hanging()
    const stop = new AbortController()
    const stopped: Model = {
      ...model,
      converse: (setup) => ({
        call: (messages, sink, signal) => {
          void model.converse(setup).call(messages, sink, signal)
          return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
        },
      }),
    }
    const runtime = runtimeOver(store, stopped, asking(), { limits: { tokens: 1000 } })
    const running = runtime.run({ task: "x", runId: "r", signal: stop.signal })
    await asked
    stop.abort()
    expect(await running).toMatchObject({ status: "cancelled" })
    const resumed = await resumedOver(store, { runId: "r" })
    expect(resumed).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
  })

  test("the request of an extension stays reserved while turns begin and end", () => {
    const spending = new Spending()
    spending.reserveSample("a", { tokens: 100, usd: 1 })
    spending.reserveSample("b", { tokens: 10, usd: null })
    spending.reserve({ tokens: 5, usd: 0 })
    spending.settle({ ...noUsage, outputTokens: 2 })
    spending.reserve(undefined)
    expect(spending.tokens).toBe(2)
    spending.add({ ...noUsage, outputTokens: 3 }, { sample: "a" })
    expect(spending.tokens).toBe(5)
    spending.lose()
    spending.lose()
    expect(spending.tokens).toBe(15)
  })

  test("the request of an extension is not sent if its reserve cannot be made durable", async () => {
    const store = memoryStore()
    let asked = 0
    const model: Model = { ...failing, converse: () => ({ call: () => Promise.reject(new Error(`${asked++}`)) }) }
    const ends: unknown[] = []
    const extension: Extension = {
      name: "probe",
      async open(run) {
        await resumedOver(store, { runId: "r", takeover: true })
        ends.push(await run.sample?.(request).catch((error: Error) => error.message))
        return {}
      },
    }
    await runtimeOver(store, model, extension, { limits: { tokens: 1000 } }).run({ task: "x", runId: "r" })
    expect([asked, ends.length]).toEqual([0, 1])
  })

  test("the request of an extension is refused if dollars are limited and the price of the model is unknown", async () => {
    const ends: unknown[] = []
    const config = { limits: { usd: 1 }, resolvePricing: () => null }
    await runtimeOver(memoryStore(), failing, asking(ends), config).run({ task: "x", runId: "r" })
    expect(ends).toEqual([expect.stringContaining("price of")])
  })
})

test("a request of an extension in a run without limits has no reserve", async () => {
  const store = memoryStore()
  await runtimeOver(store, scriptedModel(["sampled", "done"]), asking()).run({ task: "x", runId: "r" })
  const types = (await recordsOf(store)).map(({ type }) => type)
  expect([types.includes("metering"), types.includes("sample-start")]).toEqual([true, false])
})

/** In another process, which names the model to go on with. */
function resumedOver(store: Store, input: ResumeInput) {
  const model = scriptedModel(["done"])
  return runtimeOver(store, model, idle).resume({ ...input, model })
}
