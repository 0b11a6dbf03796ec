import { describe, expect, test } from "vitest"
import { z } from "zod"
import { LONG_LIMIT_MS, withTimeLimit } from "../../../test/support/time-limit.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { fakeBackend, scriptedModel } from "../../testing/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"

/** Its own checks and conversions are in no JSON Schema: an amount is at most 100, and a number in the end. */
const payment = z.object({ amount: z.string().transform(Number).pipe(z.number().max(100)) })
const pay = defineTool({
  name: "pay",
  description: "pays",
  inputSchema: { type: "object" },
  risk: "high",
  run: () => "paid",
})

/** Another process over the same store. */
function processOver(
  store: ReturnType<typeof memoryStore>,
  steps: readonly string[],
  schemas?: RuntimeConfig["schemas"],
) {
  const call = { parts: [{ toolCall: { name: "pay", args: {} } }] }
  return createRuntime({
    store,
    tools: [pay],
    policy: { ask: "pause" },
    model: scriptedModel(steps.length === 0 ? [call] : steps),
    ...(schemas && { schemas }),
  })
}

const tooMuch = '{"amount":"250"}'
const enough = '{"amount":"25"}'
const named = { runId: "r", task: "pay", outputSchema: "payment" }

test("the own checks of a named schema hold after a resume in another process", async () => {
  const store = memoryStore()
  expect((await processOver(store, [], { payment }).run(named)).status).toBe("paused")
  const other = processOver(store, [tooMuch, tooMuch], { payment })
  expect(await other.resume({ runId: "r", decision: "approve" })).toMatchObject({
    status: "failed",
    error: { code: "output_schema_mismatch" },
  })
})

test("a named schema converts the answer of a run that another process finishes in the background", async () => {
  const store = memoryStore()
  await processOver(store, [], { payment }).start(named)
  expect((await processOver(store, [], { payment }).waitFor("r", { outputSchema: "payment" })).status).toBe("paused")
  const other = createRuntime({
    store,
    tools: [pay],
    policy: { ask: "pause" },
    model: scriptedModel([tooMuch, enough]),
    schemas: { payment },
  })
  await other.resumeAsync({ runId: "r", decision: "approve" })
  const state = await other.waitFor("r", { outputSchema: payment })
  expect(state).toMatchObject({ status: "done", data: { amount: 25 }, outputSchema: "payment" })
  for (const outputSchema of ["invoice", z.object({ amount: z.number() })]) {
    await expect(other.waitFor("r", { outputSchema })).rejects.toMatchObject({
      code: "config_invalid",
      fix: "Pass the schema payment to waitFor.",
    })
  }
})

test("a run that is started with a registered schema itself has its name", async () => {
  const store = memoryStore()
  const paused = await processOver(store, [], { payment }).run({ ...named, outputSchema: payment })
  expect(paused).toMatchObject({ status: "paused", outputSchema: "payment" })
  const resumed = await processOver(store, [enough], { payment }).resume({ runId: "r", decision: "approve" })
  expect(resumed).toMatchObject({ status: "done", data: { amount: 25 }, warnings: [] })
})

test("recovery checks the answer of a run whose process died against its named schema", async () => {
  const store = memoryStore()
  let die = () => {}
  const isCalled = new Promise<void>((resolve) => {
    die = resolve
  })
  const dying = createRuntime({
    store,
    schemas: { payment },
    model: scriptedModel([
      () => {
        die()
        return new Promise<never>(() => {})
      },
    ]),
  })
  await dying.start(named)
  await isCalled
  const other = processOver(store, [tooMuch, tooMuch], { payment })
  expect(await other.recoverOrphanedRuns({ action: "resume", staleMs: 1 })).toHaveLength(1)
  expect((await other.waitFor("r")).error?.code).toBe("output_schema_mismatch")
})

test("a run whose named schema is missing is not resumed, and can be once it is registered", async () => {
  const store = memoryStore()
  await processOver(store, [], { payment }).run(named)
  const refused = await processOver(store, [enough]).resume({ runId: "r", decision: "approve" })
  expect(refused.error).toMatchObject({ code: "config_invalid", fix: "Pass it as schemas.payment to createRuntime." })
  const resumed = await processOver(store, [enough], { payment }).resume({ runId: "r", decision: "approve" })
  expect(resumed).toMatchObject({ status: "done", data: { amount: 25 } })
})

test("a run whose schema has checks of its own and no name says that they are missing after a resume", async () => {
  const store = memoryStore()
  await processOver(store, []).run({ ...named, outputSchema: payment })
  const resumed = await processOver(store, [tooMuch]).resume({ runId: "r", decision: "approve" })
  expect(resumed.warnings).toMatchObject([{ code: "output_schema_missing" }])
  const again = memoryStore()
  await processOver(again, []).run({ ...named, outputSchema: payment })
  const withSchema = await processOver(again, [enough]).resume({
    runId: "r",
    decision: "approve",
    outputSchema: payment,
  })
  expect(withSchema).toMatchObject({ status: "done", data: { amount: 25 }, warnings: [] })
})

test("the JSON Schema in the journal is enforced after a resume that passes no schema", async () => {
  const store = memoryStore()
  await processOver(store, []).run({ ...named, outputSchema: z.object({ amount: z.number() }) })
  const resumed = await processOver(store, [tooMuch, tooMuch]).resume({ runId: "r", decision: "approve" })
  expect(resumed.error?.code).toBe("output_schema_mismatch")
})

test("a continued conversation keeps its named schema", async () => {
  const runtime = createRuntime({ schemas: { payment }, model: scriptedModel([enough, tooMuch, tooMuch]) })
  expect((await runtime.run(named)).status).toBe("done")
  expect((await runtime.continue("r", "more")).error?.code).toBe("output_schema_mismatch")
})

test("names that are not registered, and schemas that cannot be used, are refused", async () => {
  const runtime = createRuntime({ model: scriptedModel([enough]) })
  for (const name of ["payment", "toString", "__proto__"]) {
    expect((await runtime.run({ task: "x", outputSchema: name })).error?.code).toBe("config_invalid")
  }
  // @ts-expect-error: not a schema.
  expect(() => createRuntime({ schemas: { payment: 1 } })).toThrow("schemas.payment is a number")
  // @ts-expect-error: not an object.
  expect(() => createRuntime({ schemas: [] })).toThrow("schemas is")
})

/** A schema whose own check never settles. `asked`: resolves when it is asked. */
function unsettled() {
  let isAsked = () => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const schema = z.object({}).refine(() => {
    isAsked()
    return new Promise<boolean>(() => {})
  })
  return { schema, asked }
}

describe("a check of the caller that never settles", () => {
  const backends = { native: undefined, "another backend": fakeBackend({ script: () => "{}" }) }
  const hooks = { stop: () => true }

  test.each([
    ["native", "after the last turn", {}],
    ["another backend", "after the last turn", {}],
    ["native", "after a hook has ended the run", { hooks }],
    ["another backend", "after a hook has ended the run", { hooks }],
  ] as const)("a check that never settles ends with the run's timeMs: %s, %s", async (name, _, more) => {
    const { schema, asked } = unsettled()
    const backend = backends[name]
    const result = await withTimeLimit((pass) => {
      void asked.then(pass)
      const runtime = createRuntime({
        ...{ store: memoryStore(), tools: [], model: scriptedModel(["{}"]), ...(backend && { backend }), ...more },
      })
      return runtime.run({ task: "Answer.", outputSchema: schema, limits: { timeMs: LONG_LIMIT_MS } })
    })
    expect(result).toMatchObject({ status: "failed", error: { code: "run_timeout" }, data: null })
  })

  test.each(["native", "another backend"] as const)(
    "a check that never settles ends when the run is cancelled: %s",
    async (name) => {
      const { schema, asked } = unsettled()
      const backend = backends[name]
      const runtime = createRuntime({
        ...{ store: memoryStore(), tools: [], model: scriptedModel(["{}"]), ...(backend && { backend }) },
      })
      const handle = runtime.stream({ task: "Answer.", outputSchema: schema })
      await asked
      handle.interrupt("immediate")
      expect(await handle.result).toMatchObject({ status: "cancelled" })
    },
  )
})
