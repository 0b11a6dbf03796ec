import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { describe, expect, test } from "vitest"
import { until } from "../../../test/support/watchdog.ts"
import { native } from "../../backends/native/index.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { Model } from "../../contract/provider.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import { createRuntime } from "../../index.ts"
import { fromAiSdk } from "../../providers/ai-sdk/index.ts"
import { anthropic } from "../../providers/anthropic/index.ts"
import { google } from "../../providers/google/index.ts"
import { openai } from "../../providers/openai/index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { createSimulator, type ScriptedStep, scriptedModel } from "../../testing/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { recalledModel, recordedModel } from "./named-models.ts"

const gateway = "https://gateway.example.com"
const KEY = "sk-ant-of-the-customer-000000000000"

/** Two servers: which of them got a conversation is all that counts. */
function servers() {
  const asked: string[] = []
  const simulator = createSimulator({
    script: ({ messages }) => (messages.length === 1 ? { parts: [{ toolCall: { name: "pay", args: {} } }] } : "Paid."),
  })
  const fetch: typeof globalThis.fetch = (input, init) => {
    asked.push(new URL(input instanceof Request ? input.url : input).origin)
    const url = new URL(input instanceof Request ? input.url : input)
    url.username = url.password = ""
    return simulator.fetch(new Request(url, init))
  }
  const model = (baseUrl?: string): Model =>
    anthropic({ model: "claude-sonnet-4-6", apiKey: KEY, fetch, ...(baseUrl !== undefined && { baseUrl }) })
  return { asked, model }
}

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  inputSchema: { type: "object" },
  effect: "once",
  run: () => "ok",
})
const spare = scriptedModel(["unused"])

function runtimeWith(store: RuntimeConfig["store"], config: RuntimeConfig) {
  const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask a person." }) as const }
  return createRuntime({
    ...(store && { store }),
    tools: [pay],
    hooks,
    backend: native({ retry: { firstMs: 1 } }),
    ...config,
  })
}

describe("a resumed run goes on with the model at the address that it began with", () => {
  test("a chain of values is resumed with the runtime's own entries", async () => {
    const { asked, model } = servers()
    const store = memoryStore()
    const config = { chain: [{ model: model(gateway) }, { model: spare }] }
    expect(await runtimeWith(store, config).run({ task: "pay", runId: "r" })).toMatchObject({ status: "paused" })
    const result = await runtimeWith(store, config).resume({ runId: "r", decision: "approve" })
    expect(result).toMatchObject({ status: "done", text: "Paid." })
    expect(new Set(asked)).toEqual(new Set([gateway]))
  })

  const elsewhere: readonly (readonly [string, (model: Model) => RuntimeConfig])[] = [
    ["in the same place of its chain", (model) => ({ chain: [{ model }, { model: spare }] })],
    ["in another place of its chain", (model) => ({ chain: [{ model: spare }, { model }] })],
    ["as its model", (model) => ({ model })],
  ]
  const begun = [(model: Model) => ({ chain: [{ model }, { model: spare }] }), (model: Model) => ({ model })]
  test.each(elsewhere)("a runtime with another address %s is refused, and nothing is sent", async (_, configOf) => {
    for (const began of begun) {
      const { asked, model } = servers()
      const store = memoryStore()
      await runtimeWith(store, began(model(gateway))).run({ task: "pay", runId: "r" })
      const requests = asked.length
      const other = runtimeWith(store, configOf(model()))
      const result = await other.resume({ runId: "r", decision: "approve" })
      expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
      expect(result.error?.message).toContain(gateway)
      expect(JSON.stringify(result)).not.toContain(KEY)
      expect(asked).toHaveLength(requests)
      expect(await other.status("r")).toMatchObject({ status: "paused" })
    }
  })

  test("a model that was named and is not available here is refused, not replaced by the runtime's own", async () => {
    const { asked, model } = servers()
    const store = memoryStore()
    await runtimeWith(store, { model: model(gateway) }).run({ task: "pay", runId: "r" })
    const requests = asked.length
    const result = await runtimeWith(store, { model: spare }).resume({ runId: "r", decision: "approve" })
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(asked).toHaveLength(requests)
  })

  test("a model that the caller names is used, wherever it is", async () => {
    const { asked, model } = servers()
    const store = memoryStore()
    await runtimeWith(store, { model: model(gateway) }).run({ task: "pay", runId: "r" })
    const resumed = runtimeWith(store, { model: spare })
    const result = await resumed.resume({ runId: "r", decision: "approve", model: model() })
    expect(result).toMatchObject({ status: "done" })
    expect(asked.at(-1)).toBe("https://api.anthropic.com")
  })

  test("the same address with the key of another source is refused", async () => {
    const { model } = servers()
    const store = memoryStore()
    const fromVariable = (name: string): Model => ({
      ...model(),
      endpoint: { url: "https://api.anthropic.com/v1/messages", keyFrom: name },
    })
    await runtimeWith(store, { model: fromVariable("TEAM_KEY") }).run({ task: "pay", runId: "r" })
    const resume = (name: string) =>
      runtimeWith(store, { model: fromVariable(name) }).resume({ runId: "r", decision: "approve" })
    expect(await resume("OTHER_KEY")).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(await resume("TEAM_KEY")).toMatchObject({ status: "done" })
  })

  test("a summariser that was passed as a value is passed again, or the run is refused", async () => {
    const { model } = servers()
    const store = memoryStore()
    const compaction = { model: model(gateway) }
    const runtime = runtimeWith(store, { model: model() })
    await runtime.run({ task: "pay", runId: "r", compaction })
    expect(await runtime.resume({ runId: "r", decision: "approve" })).toMatchObject({
      status: "failed",
      error: { code: "config_invalid" },
    })
    expect(await runtime.resume({ runId: "r", decision: "approve", compaction })).toMatchObject({ status: "done" })
  })

  test("the next exchange of a conversation goes to the same address, or is refused", async () => {
    const { asked, model } = servers()
    const store = memoryStore()
    const allowed = { hooks: {} }
    await runtimeWith(store, { model: model(gateway), ...allowed }).run({ task: "pay", runId: "r" })
    const requests = asked.length
    const other = runtimeWith(store, { model: model(), ...allowed })
    expect(await other.continue("r", "again")).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(asked).toHaveLength(requests)
  })

  test("a journal has the address of its model without user, password and query", async () => {
    const { model } = servers()
    const runtime = runtimeWith(memoryStore(), {
      model: model("https://me:hunter22@gateway.example.com/x?token=t0ps3cret"),
    })
    await runtime.run({ task: "pay", runId: "r" })
    const records: unknown[] = []
    for await (const record of runtime.events("r")) records.push(record)
    expect(JSON.stringify(records)).toContain("gateway.example.com/x")
    expect(JSON.stringify(records)).not.toMatch(/hunter22|t0ps3cret/)
  })
})

const key = { apiKey: KEY }
const addressed: readonly (readonly [string, (at: string | undefined) => Model])[] = [
  ["anthropic", (baseUrl) => anthropic({ model: "claude-sonnet-4-6", ...key, ...(baseUrl && { baseUrl }) })],
  ["openai responses", (baseUrl) => openai({ model: "gpt-5.5", ...key, ...(baseUrl && { baseUrl }) })],
  ["openai chat", (baseUrl) => openai({ model: "gpt-5.5", api: "chat", ...key, ...(baseUrl && { baseUrl }) })],
  ["google", (baseUrl) => google({ model: "gemini-2.5-pro", ...key, ...(baseUrl && { baseUrl }) })],
  [
    "anthropic of the AI SDK",
    (baseURL) => fromAiSdk(createAnthropic({ ...key, ...(baseURL && { baseURL }) })("claude-sonnet-4-6")),
  ],
  ["openai of the AI SDK", (baseURL) => fromAiSdk(createOpenAI({ ...key, ...(baseURL && { baseURL }) })("gpt-5.5"))],
  [
    "openai chat of the AI SDK",
    (baseURL) => fromAiSdk(createOpenAI({ ...key, ...(baseURL && { baseURL }) }).chat("gpt-5.5")),
  ],
  [
    "google of the AI SDK",
    (baseURL) => fromAiSdk(createGoogleGenerativeAI({ ...key, ...(baseURL && { baseURL }) })("gemini-2.5-pro")),
  ],
]

test.each(addressed)("a model of %s at another address does not continue a run", (_, model) => {
  const at = `${gateway}/team`
  expect(model(at).endpoint?.url).toContain(at)
  const recorded = recordedModel(model(at))
  expect(recalledModel(recorded, [model(at)], () => model(undefined)).endpoint?.url).toContain(at)
  for (const [candidates, named] of [
    [[model(undefined)], at],
    [[], undefined],
  ] as const) {
    expect(() => recalledModel(recorded, candidates, () => model(named))).toThrow(
      /The run began with .* at https:\/\/gateway/,
    )
  }
})

test("an agent whose model is elsewhere fails the run for everybody, and it continues once the model is right", async () => {
  const store = memoryStore()
  let paid = 0
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    inputSchema: { type: "object" },
    run: () => `paid ${++paid}`,
  })
  const hooks = {
    gateBeforeTool: (name: string) =>
      name === "pay" ? ({ allow: false, reason: "Ask." } as const) : ({ allow: true } as const),
  }
  const at = (url: string, id: string, steps: readonly ScriptedStep[]) => ({
    ...scriptedModel(steps),
    id,
    endpoint: { url },
  })
  const runtimeOf = (child: Model, model: Model) => {
    const types = { reviewer: { description: "Reviews.", system: "You review.", model: child } }
    return createRuntime({ store, tools: [pay], hooks, model, agents: { types } })
  }
  const call = (name: string, args: JsonObject) => ({ parts: [{ toolCall: { name, args } }] })
  const start = call("Agent", { description: "review", prompt: "Review.", agent: "reviewer" })
  const first = runtimeOf(
    at("https://a.example", "child", [call("pay", {})]),
    at("https://a.example", "parent", [start]),
  )
  expect(await first.run({ task: "Go.", runId: "r" })).toMatchObject({ status: "paused" })

  const elsewhere = at("https://b.example", "child", ["Reviewed."])
  const second = runtimeOf(elsewhere, at("https://a.example", "parent", ["Done."]))
  const failed = { status: "failed", error: { code: "config_invalid" } }
  expect(await second.resume({ runId: "r", decision: "approve" })).toMatchObject(failed)
  expect(elsewhere.calls).toEqual([])
  expect(await second.status("r")).toMatchObject(failed)

  const third = runtimeOf(at("https://a.example", "child", ["Reviewed."]), at("https://a.example", "parent", ["Done."]))
  await until(async () => (await third.runs()).some(({ runId, lost }) => runId === "r" && lost === true))
  // The decision is in the journal.
  expect(await third.resume({ runId: "r" })).toMatchObject({ status: "done", text: "Done." })
  expect(paid).toBe(1)
})
