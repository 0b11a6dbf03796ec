import { expect, test } from "vitest"
import { providersUnderTest } from "../../test/support/providers-under-test.ts"
import { native } from "../backends/native/index.ts"
import type { RunEvent } from "../contract/event.ts"
import { createRuntime } from "../index.ts"
import { memoryStore } from "../stores/memory.ts"
import { createSimulator, type FaultOrder, type SimulatedAnswer } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"
import { Ledger } from "./state/ledger.ts"

const LIMIT = 50_000
/** One request: at most 10,000 tokens of input and a short answer. */
const usage = { inputTokens: 10_000, outputTokens: 60 }
const look = defineTool({ name: "look", description: "looks", inputSchema: { type: "object" }, run: () => "nothing" })
const answer = { parts: [{ text: "x".repeat(200) }, { toolCall: { name: "look", args: {} } }], usage }

/** A run whose requests fail as `faults` says, and what the server was paid. */
async function spend(
  { model }: (typeof providersUnderTest)[number],
  faults: (index: number) => FaultOrder | null,
  answered: SimulatedAnswer = answer,
) {
  const simulator = createSimulator({ script: () => answered, faults: ({ index }) => faults(index) })
  const events: RunEvent[] = []
  const runtime = createRuntime({
    store: memoryStore(),
    model: model(simulator.fetch),
    backend: native({ retry: { firstMs: 1, longestMs: 1 } }),
    tools: [look],
    limits: { tokens: LIMIT, turns: 1000 },
  })
  const result = await runtime.run({
    task: "x".repeat(10_000),
    runId: "r",
    maxOutputTokens: 1000,
    onEvent: (event) => events.push(event),
  })
  await runtime.close()
  const isPaid = ({ index }: { readonly index: number }) => faults(index)?.kind !== "status"
  return { result, events, paid: simulator.requests.filter(isPaid).length * 10_060 }
}

for (const server of providersUnderTest) {
  test(`${server.name}: a limit of tokens counts streams that are cut and asked for again`, async () => {
    for (const kind of ["cut", "reset"] as const) {
      const { result, paid } = await spend(server, (index) => (index % 6 === 5 ? null : { kind, atByte: 900 }))
      expect(result.error?.code, kind).toBe("budget_exceeded")
      expect(paid, kind).toBeLessThan(LIMIT + 10_060)
    }
  })

  test(`${server.name}: a stream that ends without an event counts what was reserved for it`, async () => {
    const { result, events, paid } = await spend(server, (index) =>
      index % 6 === 5 ? null : { kind: "cut", atByte: 0 },
    )
    expect(result.error?.code).toBe("budget_exceeded")
    expect(paid).toBeLessThan(LIMIT + 10_060)
    expect(events.find(({ type }) => type === "metering")).toMatchObject({ failed: "unreported", reserve: {} })
  })

  test(`${server.name}: a request that the server refuses costs nothing`, async () => {
    const { result, events } = await spend(server, (index) =>
      index % 2 === 0 ? { kind: "status", status: 529 } : null,
    )
    expect(events.some(({ type }) => type === "metering")).toBe(false)
    expect(result.usage.inputTokens).toBe(50_000)
  })
}

test("anthropic: the arguments of a call that was cut count as output", async () => {
  const [server = expect.fail("there is no server")] = providersUnderTest.filter(({ name }) => name === "anthropic")
  const toolCall = { name: "look", args: { note: "x".repeat(40_000) } }
  const long = { parts: [{ toolCall }], usage: { inputTokens: 100, outputTokens: 10_000 } }
  const { events } = await spend(server, () => ({ kind: "cut", atByte: 30_000 }), long)
  const metered = events.flatMap((event) => (event.type === "metering" ? [event] : []))
  expect(metered).toHaveLength(6)
  // One token for four characters of what arrived, beside the events around them.
  for (const { usage } of metered) expect(usage).toEqual({ ...usage, inputTokens: 100, outputTokens: 624 })
})

test("a call that exceeds its bound makes later calls reserve as much more, in the ledgers above it too", async () => {
  const above = new Ledger({ tokens: 100_000 })
  const ledger = new Ledger({ tokens: 100_000 }, {}, above)
  const bound = { tokens: 100, usd: 0.1 }
  const signal = new AbortController().signal
  const settled = (tokens: number) => ({
    inputTokens: tokens,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: 0,
  })
  const first = await ledger.reserve(bound, signal)
  const second = await ledger.reserve(bound, signal)
  ledger.settle(first, settled(300))
  ledger.settle(second, settled(300))
  expect(await ledger.reserve(bound, signal)).toEqual({ tokens: 300, usd: expect.closeTo(0.3) })
  expect(await new Ledger({}, {}, above).reserve(bound, signal)).toMatchObject({ tokens: 300 })
})

test("a run that was resumed counts the streams that were cut before", async () => {
  const store = memoryStore()
  const simulator = createSimulator({ script: () => answer, faults: () => ({ kind: "cut", atByte: 900 }) })
  const [server] = providersUnderTest
  const runtime = createRuntime({
    store,
    ...(server && { model: server.model(simulator.fetch) }),
    backend: native({ retry: { attempts: 3, firstMs: 1, longestMs: 1 } }),
    limits: { tokens: LIMIT },
  })
  const first = await runtime.run({ task: "x".repeat(10_000), runId: "r", maxOutputTokens: 1000 })
  expect(first.error?.code).toBe("stream_incomplete")
  expect(first.usage.inputTokens).toBe(30_000)
  expect((await runtime.resume({ runId: "r" })).error?.code).toBe("budget_exceeded")
  expect(simulator.requests.length).toBe(5)
  await runtime.close()
})
