import { expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { LonghaulError } from "../src/contract/error.ts"
import type { Model } from "../src/contract/provider.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { agent, calls, eventsOf, part, pauses, playing, processOver } from "./support/agent-scene.ts"

const usage = (outputTokens: number) => ({ inputTokens: 0, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 })
const says = (text: string, tokens: number) => ({ parts: [{ text }], usage: usage(tokens) })

test("the end of an agent is recorded with the tokens and dollars of all agents below it", {
  tags: ["LOOP-09"],
}, async () => {
  const roles = {
    lead: [{ ...calls(agent("middle")), usage: usage(1) }, says("Done.", 1)],
    middle: [{ ...calls(agent("leaf"), agent("leaf")), usage: usage(10) }, says("M.", 20)],
    leaf: [says("L.", 400)],
  }
  const { runtime } = processOver(memoryStore(), roles, {
    agents: { depth: 2 },
    limits: { tokens: 100_000 },
    resolvePricing: () => ({ input: 0, output: 1 }),
  })
  await runtime.run({ task: "lead", runId: "r", maxOutputTokens: 500 })
  const ends = (await eventsOf(runtime, "r")).flatMap((event) =>
    event.type === "agent-end" && !event.agent ? [event] : [],
  )
  expect(ends).toMatchObject([{ agentId: "1-0", agents: 2, turns: 4, spent: { tokens: 830 } }])
  expect(ends[0]?.spent.usd).toBeCloseTo(830 / 1_000_000, 9)
})

test("a fork does not count the agents of the run that it copies", async () => {
  const roles = { lead: [calls(agent("one")), says("Done.", 1)], one: [says("1", 500)] }
  const store = memoryStore()
  const config = { agents: { total: 1 }, limits: { turns: 4 } }
  const { runtime } = processOver(store, roles, config)
  const original = await runtime.run({ task: "lead", runId: "r" })
  expect(original.usage.outputTokens).toBeGreaterThan(500)
  const events = await eventsOf(runtime, "r")
  const end = events.find((event) => event.type === "turn-end" && !event.agent)
  await runtime.fork("r", { at: end?.seq ?? 0, newRunId: "f" })
  const forked = await processOver(
    store,
    { lead: [calls(agent("one")), calls(agent("one")), says("Done again.", 1)], one: [says("1", 500)] },
    config,
  ).runtime.resume({ runId: "f" })
  expect(forked).toMatchObject({ status: "done", text: "Done again." })
  expect(forked.toolCalls.map(({ status }) => status)).toEqual(["ok", "ok"])
  // Its own agent, and not that of the run before.
  expect(forked.usage.outputTokens).toBeLessThan(1_000)
})

test("an agent that moved to the second entry of the chain continues there in another process", async () => {
  const store = memoryStore()
  const roles = { lead: [calls(agent("one")), "Done."], one: [calls(part("act", { n: 1 })), "1"] }
  const asked: string[] = []
  const first = (): Model => ({
    ...playing({}),
    provider: "first",
    converse: (setup) => ({
      call(messages, sink, signal) {
        const isChild = !JSON.stringify(messages[0]).includes("lead")
        asked.push(isChild ? "child" : "lead")
        if (isChild) throw new LonghaulError("overloaded", "It is overloaded.")
        return playing(roles).converse(setup).call(messages, sink, signal)
      },
    }),
  })
  const backend = native({ retry: { attempts: 1 } })
  const chain = () => [first(), playing(roles)].map((model) => ({ backend, model }))
  const paused = await processOver(store, roles, { ...pauses, chain: chain() }).runtime.run({
    task: "lead",
    runId: "r",
  })
  expect(paused.pause?.reason).toBe("approval")
  expect(asked).toEqual(["lead", "child"])
  const { runtime, ran } = processOver(store, roles, { ...pauses, chain: chain() })
  expect((await runtime.resume({ runId: "r", decision: "approve" })).status).toBe("done")
  expect(ran).toEqual([{ n: 1 }])
  expect(asked.filter((each) => each === "child")).toHaveLength(1)
})
