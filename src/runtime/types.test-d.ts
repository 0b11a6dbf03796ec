import { expectTypeOf, test } from "vitest"
import { z } from "zod"
import type { Failure, Json, Pause, Runtime } from "../index.ts"
import { createRuntime, defineTool } from "../index.ts"

declare const runtime: Runtime

const invoice = z.object({ total: z.number(), due: z.date(), note: z.string().optional() })
type Invoice = { readonly total: number; readonly due: string; readonly note?: string }

test("run, stream and resume type `data` from a Standard Schema, as JSON", async () => {
  const result = await runtime.run({ task: "x", outputSchema: invoice })
  if (result.status === "done") expectTypeOf(result.data).toEqualTypeOf<Invoice>()
  const streamed = await runtime.stream({ task: "x", outputSchema: invoice }).result
  if (streamed.status === "done") expectTypeOf(streamed.data.total).toEqualTypeOf<number>()
  const resumed = await runtime.resume({ runId: "r", outputSchema: invoice })
  if (resumed.status === "done") expectTypeOf(resumed.data).toEqualTypeOf<Invoice>()
})

test("waitFor types `data` from a registered Standard Schema", async () => {
  const waited = await runtime.waitFor("r", { outputSchema: invoice })
  if (waited.status === "done") expectTypeOf(waited.data).toEqualTypeOf<Invoice>()
  const named = await runtime.waitFor("r", { outputSchema: "invoice", timeoutMs: 1 })
  if (named.status === "done") expectTypeOf(named.data).toEqualTypeOf<Json>()
})

test("a tool can refer to the runtime that it is passed to", () => {
  const stop = defineTool({
    name: "stop",
    description: "stops",
    inputSchema: { type: "object" },
    run: async (_, { runId }) => String(await own.cancel(runId)),
  })
  const own = createRuntime({ tools: [stop], schemas: { invoice } })
  expectTypeOf(own).toEqualTypeOf<Runtime>()
})

test("a schema with a field for any JSON gives that field a type of finite depth", async () => {
  const result = await runtime.run({ task: "x", outputSchema: z.object({ total: z.number(), more: z.json() }) })
  if (result.status !== "done") return
  expectTypeOf(result.data.total).toEqualTypeOf<number>()
  expectTypeOf(result.data.more).toExtend<Json>()
})

test("without a Standard Schema, `data` is JSON", async () => {
  const plain = await runtime.run({ task: "x" })
  if (plain.status === "done") expectTypeOf(plain.data).toEqualTypeOf<Json>()
  const byJsonSchema = await runtime.run({ task: "x", outputSchema: { type: "object" } })
  if (byJsonSchema.status === "done") expectTypeOf(byJsonSchema.data).toEqualTypeOf<Json>()
  const forwarded = await runtime.run({ task: "x", outputSchema: invoice, outputMode: "forward" })
  if (forwarded.status === "done") expectTypeOf(forwarded.data).toEqualTypeOf<Json>()
})

test("a checked status determines whether `error` and `pause` exist", async () => {
  let result = await runtime.run({ task: "x" })
  expectTypeOf(result.error).toEqualTypeOf<Failure | undefined>()
  expectTypeOf(result.pause).toEqualTypeOf<Pause | undefined>()
  while (result.status === "paused") {
    expectTypeOf(result.pause).toEqualTypeOf<Pause>()
    result = await runtime.resume({ runId: result.runId, decision: "approve" })
  }
  if (result.status === "done") expectTypeOf(result.error).toEqualTypeOf<undefined>()
  else {
    expectTypeOf(result.error).toEqualTypeOf<Failure>()
    expectTypeOf(result.data).toEqualTypeOf<null>()
  }
  const state = await runtime.status("r")
  if (state.status === "not_found") expectTypeOf(state.error).toEqualTypeOf<Failure>()
  if (state.status === "running") expectTypeOf(state.error).toEqualTypeOf<undefined>()
})

test("a misspelt key does not compile, with or without a schema", () => {
  // @ts-expect-error `taks` is not a key of an input
  void runtime.run({ taks: "x" })
  // @ts-expect-error `limit` is not a key of an input
  void runtime.run({ task: "x", outputSchema: invoice, limit: { turns: 1 } })
})

const common = { name: "t", description: "T.", inputSchema: { type: "object" } } as const
interface Tree {
  readonly name: string
  readonly children: readonly Tree[]
}
declare const tree: Tree
declare const parsed: unknown

test("a tool may return any JSON value, synchronously or asynchronously", () => {
  defineTool({ ...common, run: () => "text" })
  defineTool({ ...common, run: () => undefined })
  defineTool({ ...common, run: () => {} })
  defineTool({ ...common, run: async () => ({ at: new Date(), list: [1, null, { deep: true }] }) })
  defineTool({ ...common, run: async () => tree })
  defineTool({ ...common, run: async () => parsed })
  defineTool({ ...common, run: ({ article }) => ({ article, count: 12 }) })
  defineTool({ ...common, run: () => [{ type: "text", text: "a part" }] })
  defineTool({ ...common, inputSchema: z.object({ a: z.number() }), run: async ({ a }) => ({ twice: a * 2 }) })
})

test("a tool whose return value is not JSON does not compile", () => {
  // @ts-expect-error a function
  defineTool({ ...common, run: () => () => 1 })
  // @ts-expect-error a bigint
  defineTool({ ...common, run: () => 1n })
  // @ts-expect-error a Map
  defineTool({ ...common, run: async () => new Map([["a", 1]]) })
  // @ts-expect-error an instance of a class, with its methods
  defineTool({ ...common, run: async () => new Uint8Array(3) })
  // @ts-expect-error a function deep inside
  defineTool({ ...common, run: async () => ({ list: [{ call: () => 1 }] }) })
  // @ts-expect-error also with a Standard Schema
  defineTool({ ...common, inputSchema: z.object({ a: z.number() }), run: async ({ a }) => BigInt(a) })
})

test("a tool's input must be an object schema", () => {
  const rest = { name: "t", description: "T.", run: () => "text" }
  // @ts-expect-error a text
  defineTool({ ...rest, inputSchema: z.string() })
  // @ts-expect-error an array
  defineTool({ ...rest, inputSchema: z.array(z.string()) })
  // @ts-expect-error a JSON Schema of a text
  defineTool({ ...rest, inputSchema: { type: "string" } })
  // @ts-expect-error a JSON Schema that does not say
  defineTool({ ...rest, inputSchema: { properties: {} } })
})
