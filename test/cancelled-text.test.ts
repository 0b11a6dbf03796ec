import { expect, test } from "vitest"
import { createRuntime } from "../src/index.ts"
import { createSimulator } from "../src/testing/index.ts"
import { providersUnderTest } from "./support/providers-under-test.ts"

const words = Array.from({ length: 400 }, (_, index) => `word${index}`).join(" ")

test.each(providersUnderTest)("$name: a run cancelled in mid-stream keeps the text so far", async ({ model }) => {
  const simulator = createSimulator({ script: () => words, faults: [{ kind: "stall", atByte: 4_000 }] })
  const runtime = createRuntime({ model: model(simulator.fetch) })
  const handle = runtime.stream({ task: "Write." })
  let streamed = ""
  for await (const event of handle) {
    if (event.type === "text-delta") streamed += event.delta
    if (streamed.length > 20) handle.interrupt("immediate")
  }
  const { status, text, error } = await handle.result
  expect({ status, code: error?.code }).toEqual({ status: "cancelled", code: "cancelled" })
  expect(text).toBe(streamed)
  expect(words.startsWith(text)).toBe(true)
})

test.each(providersUnderTest)(
  "$name: a run cancelled while continuing a cut answer keeps both parts",
  async ({ model }) => {
    const simulator = createSimulator({
      script: ({ index }) =>
        index === 0 ? { parts: [{ text: "The first half, " }], stopReason: "output-limit" } : words,
      faults: [null, { kind: "stall", atByte: 4_000 }],
    })
    const handle = createRuntime({ model: model(simulator.fetch) }).stream({ task: "Write." })
    for await (const event of handle) {
      if (event.type === "text-delta" && event.delta.includes("word")) handle.interrupt("immediate")
    }
    const { status, text } = await handle.result
    expect(status).toBe("cancelled")
    expect(text).toMatch(/^The first half, word0 /)
  },
)

test.each(providersUnderTest)("$name: a run cancelled before the first word records no text", async ({ model }) => {
  const simulator = createSimulator({ script: () => words, faults: [{ kind: "stall", atByte: 0 }] })
  const runtime = createRuntime({ model: model(simulator.fetch) })
  const handle = runtime.stream({ task: "Write.", runId: "r" })
  const types: string[] = []
  for await (const event of handle) {
    types.push(event.type)
    if (event.type === "turn-start") handle.interrupt("immediate")
  }
  expect(await handle.result).toMatchObject({ status: "cancelled", text: "" })
  expect(types).not.toContain("text-end")
})
