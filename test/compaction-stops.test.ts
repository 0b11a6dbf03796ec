import { expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { LonghaulError } from "../src/contract/error.ts"
import type { RunRecord } from "../src/contract/event.ts"
import type { Message } from "../src/contract/message.ts"
import { createRuntime } from "../src/index.ts"
import { project } from "../src/journal/projection.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { agent, calls, eventsOf, part, processOver } from "./support/agent-scene.ts"

const sheep = (count: number) => "All about sheep. ".repeat(count)
const page = defineTool({ name: "page", description: "a page", inputSchema: { type: "object" }, run: () => sheep(500) })
const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 })

test("a graceful stop between two attempts at a summary ends the run without another request", async () => {
  let stop = () => {}
  const summariser = scriptedModel([
    () => {
      stop()
      return { fail: new LonghaulError("overloaded", "Busy.") }
    },
    "Summary.",
  ])
  const talk = Array.from({ length: 5 }, () => [
    { role: "user", content: [{ type: "text", text: sheep(200) }] } as const,
    { role: "assistant", content: [{ type: "text", text: sheep(200) }] } as const,
  ]).flat()
  const runtime = createRuntime({
    store: memoryStore(),
    model: scriptedModel(["Done."]),
    backend: native({ retry: { firstMs: 1, longestMs: 1 } }),
    compaction: { window: 8_000, model: summariser },
  })
  const handle = runtime.stream({ messages: [...talk, { role: "user", content: [{ type: "text", text: "Go on." }] }] })
  stop = () => handle.interrupt("graceful")
  expect((await handle.result).status).toBe("cancelled")
  expect(summariser.calls).toHaveLength(1)
})

test("after a compaction, a turn reserves for the shortened conversation", async () => {
  const steps = [...Array(6).keys()].map((turn) => ({ ...calls(part("page")), usage: usage(1_200 * turn + 200) }))
  const records: RunRecord[] = []
  const runtime = createRuntime({
    store: memoryStore(),
    model: scriptedModel([...steps, { parts: [{ text: "Done." }], usage: usage(900) }]),
    tools: [page],
    compaction: { window: 8_000, keep: 500, model: scriptedModel(["Goal: read."]) },
    limits: { tokens: 1_000_000 },
  })
  const onEvent = (event: object) => void ("seq" in event && records.push(event as RunRecord))
  expect((await runtime.run({ task: "Read.", maxOutputTokens: 100, onEvent })).status).toBe("done")
  const at = records.findIndex(({ type }) => type === "compaction")
  const turns = records.flatMap((record) => (record.type === "turn-start" ? [record] : []))
  const after = turns.find(({ seq }) => seq > (records[at]?.seq ?? 0))
  const conversation = project(records.filter(({ seq }) => seq < (after?.seq ?? 0))).messages
  // No token is shorter than a byte: beside the messages a request has its tools.
  expect(after?.reserve?.tokens).toBeGreaterThan(bytesIn(conversation))
  expect(after?.reserve?.tokens).toBeLessThan(bytesIn(conversation) + 2_500)
})

function bytesIn(messages: readonly Message[]): number {
  const texts = messages.flatMap(({ content }) =>
    content.flatMap((each) => ("output" in each ? each.output : [each]).map((one) => ("text" in one ? one.text : ""))),
  )
  return texts.join("").length
}

test("a run whose agents all answer at once with long texts ends, and its journal gives the same conversation", async () => {
  const lead = [calls(...Array(8).fill(agent("child", { background: true }))), ...Array(9).fill("Waiting.")]
  const { runtime, model } = processOver(
    memoryStore(),
    { lead, child: [sheep(1000)] },
    { compaction: { window: 16_000 } },
  )
  const result = await runtime.run({ task: "lead", runId: "r", maxOutputTokens: 500 })
  expect([result.status, result.error?.code]).toEqual(["done", undefined])
  const records = (await eventsOf(runtime, "r")).filter((record) => !("agent" in record))
  expect(records.some((record) => record.type === "compaction" && record.results?.messages)).toBe(true)
  const asked = model.asked.filter((messages) => JSON.stringify(messages[0]).includes("lead")).at(-1) ?? []
  const texts = (messages: readonly Message[]) =>
    messages.flatMap(({ content }) => content.flatMap((each) => ("text" in each ? [each.text] : [])))
  expect(texts(project(records).messages).slice(0, -1)).toEqual(texts(asked))
})
