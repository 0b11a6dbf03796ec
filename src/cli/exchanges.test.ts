import { expect, test } from "vitest"
import type { Runtime } from "../contract/runtime.ts"
import { createRuntime } from "../index.ts"
import { scriptedModel } from "../testing/index.ts"
import { type ConversationSummary, conversationsOf, newestConversations } from "./exchanges.ts"

test("conversations read page by page are the same, in the same order, as from a list of all runs", async () => {
  const runtime = createRuntime({ model: scriptedModel(Array(200).fill("Yes.")) })
  for (let index = 0; index < 70; index++) {
    await runtime.run({ runId: `run-${index}`, task: `Task ${index}.` })
    // Some conversations go on much later, and their exchanges are on different pages.
    if (index % 7 === 0) await runtime.continue(`run-${Math.floor(index / 2)}`, "And then?")
    if (index % 11 === 0) await runtime.run({ runId: `run-${index}`, nodeId: "aside", task: "Aside." })
  }
  const listed: ConversationSummary[] = []
  for await (const conversation of newestConversations(runtime)) listed.push(conversation)
  const expected = conversationsOf(await runtime.runs())
  expect(new Set(listed)).toEqual(new Set(expected))
  expect(listed).toHaveLength(expected.length)
  expect(listed.filter(({ exchanges }) => exchanges > 1).length).toBeGreaterThan(5)
})

test("a caller that takes a few conversations reads one page", async () => {
  const inner = createRuntime({ model: scriptedModel(Array(120).fill("Yes.")) })
  for (let index = 0; index < 120; index++) await inner.run({ task: `Task ${index}.` })
  const limits: unknown[] = []
  const runs: Runtime["runs"] = (filter) => {
    limits.push(filter?.limit)
    return inner.runs(filter)
  }
  let taken = 0
  for await (const _ of newestConversations({ runs })) if (++taken === 20) break
  expect(limits).toEqual([50])
})
