import { describe, expect, test } from "vitest"
import { native } from "../backends/native/index.ts"
import type { RunRecord } from "../contract/event.ts"
import type { Json, JsonObject } from "../contract/json.ts"
import type { Model } from "../contract/provider.ts"
import type { RuntimeConfig } from "../contract/run.ts"
import { createRuntime } from "../index.ts"
import { memoryStore } from "../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic
const throwing = {
  toJSON() {
    throw new Error("no")
  },
}

function setup(model: Model, config: RuntimeConfig = {}) {
  const ran: Json[] = []
  const tools = (["none", "once"] as const).map((effect) =>
    defineTool({
      name: effect,
      description: "Works.",
      inputSchema: { type: "object" },
      effect,
      run: (args) => ran.push(args as Json),
    }),
  )
  const store = memoryStore()
  const runtime = createRuntime({ store, model, tools, backend: native({ retry: { firstMs: 1 } }), ...config })
  return { runtime, ran }
}

/** Checks that listeners received exactly the records in the journal, numbered without gaps. */
async function run(model: Model, config?: RuntimeConfig) {
  const { runtime, ran } = setup(model, config)
  const heard: RunRecord[] = []
  const onEvent = (event: object) => "seq" in event && heard.push(event as RunRecord)
  const result = await runtime.run({ task: "x", runId: "r", onEvent })
  const records: RunRecord[] = []
  for await (const record of runtime.events("r")) records.push(record)
  expect(heard).toEqual(records)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index))
  return { result, ran }
}

const calls = (name: string, rawArgs: string): ScriptedStep => ({ parts: [{ toolCall: { name, rawArgs } }] })

describe("arguments that are not valid JSON", () => {
  test.each([
    ["none", 4_500],
    ["once", 4_500],
    ["once", 257],
    ["once", 100_000],
  ])(
    "arguments of a call with effect %s, nested %i deep, are invalid for the model, and the run continues",
    async (name, depth) => {
      const { result, ran } = await run(scriptedModel([calls(name, nested(depth)), "Done."]))
      expect(result).toMatchObject({
        status: "done",
        text: "Done.",
        toolCalls: [{ name, status: "error", args: null }],
      })
      expect(result.toolCalls[0]?.error).toMatch(/nested more than 256 levels deep|more than 50000 keys/)
      expect(ran).toEqual([])
    },
  )

  test("arguments nested to the maximum depth are accepted", async () => {
    const { result, ran } = await run(scriptedModel([calls("once", nested(256)), "Done."]))
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
    expect(ran).toHaveLength(1)
  })

  test.each([
    ["a bigint", { n: 1n }],
    ["a cycle", cyclic],
    ["a toJSON that throws", throwing],
  ])("arguments of a model that returns %s are invalid", async (_, args) => {
    const model = scriptedModel([calls("once", "{}"), "Done."])
    const careless: Model = {
      ...model,
      converse(setup) {
        const conversation = model.converse(setup)
        return {
          ...conversation,
          async call(messages, sink, signal) {
            const answer = await conversation.call(messages, sink, signal)
            // A model that breaks its contract.
            const parts = answer.parts.map((part) =>
              part.type === "tool-call" ? { ...part, args: args as Json } : part,
            )
            return { ...answer, parts }
          },
        }
      },
    }
    const { result, ran } = await run(careless)
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error", args: null }] })
    expect(ran).toEqual([])
  })
})

test("a structured answer that is nested too deep is reported to the model", async () => {
  const model = scriptedModel([nested(4_500), '{"a":1}'])
  const { runtime } = setup(model)
  const result = await runtime.run({ task: "x", outputSchema: { type: "object" } })
  expect(result).toMatchObject({ status: "done", data: { a: 1 }, structuredSource: "repair" })
})

describe("input that is not JSON", () => {
  const bad: readonly (readonly [string, unknown, string])[] = [
    ["a bigint", { n: 1n }, "n is a bigint"],
    ["a cycle", cyclic, "self contains itself"],
    ["a toJSON that throws", { at: throwing }, "cannot be read"],
    ["a function", { f: () => 1 }, "f is a function"],
    ["4,500 levels", JSON.parse(nested(4_500)), "nested more than 256 levels deep"],
  ]

  test.each(bad)("%s in metadata is config_invalid, and the id stays free", async (_, metadata, why) => {
    const { runtime } = setup(scriptedModel(["Done."]))
    const input = { task: "x", runId: "r" }
    const refused = await runtime.run({ ...input, metadata: metadata as JsonObject })
    expect(refused).toMatchObject({ status: "failed", error: { code: "config_invalid", fix: expect.any(String) } })
    expect(refused.error?.message).toContain(why)
    expect(await runtime.run(input)).toMatchObject({ status: "done" })
  })

  test.each(bad)("%s in messages is config_invalid", async (_, content, why) => {
    const { runtime } = setup(scriptedModel(["Done."]))
    const messages = [{ role: "user", content: [{ type: "text", text: content as string }] }] as const
    const refused = await runtime.run({ messages })
    expect(refused).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(refused.error?.message).toContain(why)
  })

  test("a date in metadata is stored as JSON", async () => {
    const { runtime } = setup(scriptedModel(["Done."]))
    const metadata = { at: new Date(0) } as unknown as JsonObject
    await runtime.run({ task: "x", runId: "r", metadata })
    for await (const record of runtime.events("r")) {
      if (record.type === "run-start") expect(record.input.metadata).toEqual({ at: "1970-01-01T00:00:00.000Z" })
    }
  })

  test("an owner that is not JSON is rejected when the runtime is created", () => {
    const owner = { n: 1n } as unknown as JsonObject
    expect(() => setup(scriptedModel([]), { owner })).toThrow(expect.objectContaining({ code: "config_invalid" }))
  })

  test.each([
    ["a limit", { limits: { turns: 1n } }],
    ["an effort", { effort: 1n }],
    ["a model", { model: { id: 1n } }],
  ])("%s that is a bigint is config_invalid", async (_, wrong) => {
    const { runtime } = setup(scriptedModel(["Done."]))
    const result = await runtime.run({ task: "x", ...(wrong as object) })
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
  })

  test("a setting that JSON cannot have gives a typed failure, never a rejection", async () => {
    const { runtime } = setup(scriptedModel(["Done."]))
    const result = await runtime.run({ task: "x", runId: "r", temperature: 1n as unknown as number })
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(await runtime.run({ task: "x", runId: "r" })).toMatchObject({ status: "done" })
  })
})
