import { expect, test } from "vitest"
import type { PiAssistant, PiModel, PiModules } from "./shapes.ts"
import { summaryModel } from "./summary-model.ts"

const model: PiModel = {
  ...{
    id: "m",
    name: "m",
    api: "openai-responses",
    provider: "openai",
    baseUrl: "http://127.0.0.1:1",
    reasoning: false,
  },
  ...{ input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
  ...{ contextWindow: 1000, maxTokens: 100 },
}

/** Asks for a summary of Pi's client, which answers so. */
function summaryOf(answer: Partial<PiAssistant>, status = 200) {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 }
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.01 }
  const whole = { role: "assistant", content: [], model: "m", stopReason: "stop", usage: { ...usage, cost }, ...answer }
  const streamSimple: PiModules["ai"]["streamSimple"] = (_, __, { onResponse }) => {
    onResponse?.({ status })
    // Safe: the members that are read.
    return { result: async () => whole as unknown as PiAssistant }
  }
  // Safe: nothing else of Pi is used.
  const modules = { ai: { streamSimple } } as unknown as PiModules
  const { call } = summaryModel({ modules, model, apiKey: async () => "key" }).converse({
    tools: [],
    transport: {} as never,
  })
  // Safe: neither the transport nor the sink is used.
  return call(
    [{ role: "user", content: [{ type: "text", text: "Summarise." }] }],
    {} as never,
    new AbortController().signal,
  )
}

test("a summary by Pi's client is its text and usage", async () => {
  const content = [{ type: "text", text: "Goal: the task." }] as const
  expect(await summaryOf({ content } as unknown as Partial<PiAssistant>)).toMatchObject({
    parts: content,
    stopReason: "end",
    usage: { inputTokens: 1, outputTokens: 1, costUsd: 0.01 },
  })
})

test.each([
  ["error", 529, "overloaded"],
  ["error", 401, "auth"],
  ["aborted", 200, "stream_incomplete"],
])(
  "an answer of Pi's client that ends with %s (status %i) is a failure, not an empty summary",
  async (stopReason, status, code) => {
    const answer = { stopReason, errorMessage: "It broke." } as unknown as Partial<PiAssistant>
    await expect(summaryOf(answer, status)).rejects.toMatchObject({ code, message: "It broke." })
  },
)
