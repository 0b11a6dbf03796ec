import { expect, test } from "vitest"
import type { RunRecord } from "../../src/contract/event.ts"
import type { Message } from "../../src/contract/message.ts"
import { RunProjection } from "../../src/journal/projection.ts"
import { plainText } from "../../src/lib/content.ts"
import type { SimulatedRequest } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { openPlace } from "../support/backend-place.ts"
import { placedPi } from "./pi-bench.ts"

const WINDOW = 12_000
const TASK = "The task: count the sheep."
const words = (characters: number) => "alpha beta gamma delta ".repeat(characters / 23)
const step = defineTool({
  name: "step",
  description: "Does a step.",
  inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  run: ({ n }: { readonly n: number }) => `Result ${n}: ${words(1_500)}`,
})

/** A model of 40 steps whose server refuses what does not fit in its window. */
function place(window: number) {
  let turn = 0
  const script = (request: SimulatedRequest) => {
    const tokens = Math.ceil(JSON.stringify(request.body).length / 4)
    if (tokens > window) throw new Error(`prompt is too long: ${tokens} tokens > ${window} maximum`)
    if (isSummary(request)) return "Goal: count the sheep. Next action: the next step."
    turn++
    if (turn > 40) return "Finished."
    return { parts: [{ text: `Step ${turn}: ${words(600)}` }, { toolCall: { name: "step", args: { n: turn } } }] }
  }
  return openPlace({ script }, placedPi.configure)
}

const isSummary = ({ system = "" }: SimulatedRequest) => system.startsWith("You write the summary")

/** All texts of a conversation in order. */
function textsOf(messages: readonly Message[]): string {
  const texts = messages.flatMap((message) => {
    if (message.role === "tool") return message.content.map(({ output }) => plainText(output, ""))
    return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
  })
  return texts.join("")
}

function sentTexts({ messages }: SimulatedRequest): string {
  return messages.map(({ text, toolResults }) => toolResults.map((each) => each.text).join("") + text).join("")
}

async function run(window: number, settings: { readonly window?: number }) {
  const opened = await place(window)
  try {
    const runtime = opened.runtime({ tools: [step], compaction: settings, limits: { turns: 100 } })
    const result = await runtime.run({ task: TASK, runId: "r" })
    const records: RunRecord[] = []
    for await (const event of runtime.events("r")) if ("seq" in event) records.push(event)
    await runtime.close()
    return { result, records, requests: opened.simulator.requests }
  } finally {
    await opened.close()
  }
}

/** Every request of a turn is exactly what the journal says, and has the task. */
function checkRequests(records: readonly RunRecord[], requests: readonly SimulatedRequest[]) {
  const projection = new RunProjection()
  const folded = records.flatMap((record) => {
    projection.apply(record)
    return record.type === "turn-start" ? [textsOf(projection.messages)] : []
  })
  const asked = requests.filter((request) => !isSummary(request)).map(sentTexts)
  const plain = (texts: readonly string[]) => texts.map((text) => text.replaceAll(/\s/g, ""))
  expect(plain(asked)).toEqual(plain(folded))
  for (const text of asked) expect(text).toContain(TASK)
}

test("the runtime shortens the conversation of Pi before it is too long, and Pi sends what is in the journal", {
  tags: ["CMP-01"],
}, async () => {
  const { result, records, requests } = await run(WINDOW, { window: WINDOW })
  expect(result).toMatchObject({ status: "done", text: "Finished.", backend: "pi", turns: 41 })
  const compactions = records.filter(({ type }) => type === "compaction")
  expect(compactions.length).toBeGreaterThan(2)
  for (const compaction of compactions) expect(compaction).toMatchObject({ cause: "threshold" })
  const summaries = requests.filter(isSummary)
  expect(summaries.length).toBe(compactions.filter((each) => each.type === "compaction" && each.head).length)
  for (const { tools, messages } of summaries) expect([tools, messages.length]).toEqual([[], 1])
  checkRequests(records, requests)
})

test("a request that Pi's model refuses as too long is shortened and asked again in the same turn", {
  tags: ["CMP-01"],
}, async () => {
  const { result, records, requests } = await run(WINDOW, { window: 30_000 })
  expect(result).toMatchObject({ status: "done", text: "Finished.", turns: 41 })
  // What is too long for one summary is shortened in parts.
  const overflows = records.filter((each) => each.type === "compaction" && each.cause === "overflow" && !each.isPart)
  expect(overflows).toHaveLength(1)
  checkRequests(records, requests)
})

test("without compaction, Pi's refusal of a request that is too long fails the run as context_overflow", async () => {
  const opened = await place(WINDOW)
  const runtime = opened.runtime({ tools: [step], compaction: false, limits: { turns: 100 } })
  const result = await runtime.run({ task: TASK, runId: "r" })
  expect(result).toMatchObject({ status: "failed", error: { code: "context_overflow" } })
  await runtime.close()
  await opened.close()
})
