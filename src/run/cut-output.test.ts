import { expect, test } from "vitest"
import { createRuntime } from "../index.ts"
import { memoryStore } from "../stores/memory.ts"
import { scriptedModel } from "../testing/index.ts"

const list = { type: "array", items: { type: "integer" } }
const cut = (text: string) => ({ parts: [{ text }], stopReason: "output-limit" as const })

test("JSON that was cut at the output limit is joined with its continuation before it is checked", async () => {
  const model = scriptedModel([cut("[1, 2,"), cut(" 3, "), "4]"])
  const result = await createRuntime({ model }).run({ task: "count", outputSchema: list })
  expect(result).toMatchObject({ status: "done", data: [1, 2, 3, 4], text: "[1, 2, 3, 4]", warnings: [] })
})

test("JSON that was cut is joined also if another process continues the run, and if a message comes between", async () => {
  const store = memoryStore()
  const first = createRuntime({ store, model: scriptedModel([cut("[1, 2,")]) })
  expect((await first.run({ runId: "r", task: "count", outputSchema: list, slice: { turns: 1 } })).status).toBe(
    "paused",
  )
  const next = createRuntime({ store, model: scriptedModel([" 3]"]) })
  await next.steer("r", "Hurry.")
  expect(await next.resume({ runId: "r" })).toMatchObject({ status: "done", data: [1, 2, 3] })
})

test("an answer to a repair does not continue the answer before it", async () => {
  const model = scriptedModel([cut("[1, 2,"), ' "x"]', "[3]"])
  expect(await createRuntime({ model }).run({ task: "count", outputSchema: list })).toMatchObject({ data: [3] })
})
