import { expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { LonghaulError } from "../src/contract/error.ts"
import type { RunEvent } from "../src/contract/event.ts"
import type { Model } from "../src/contract/provider.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import { createRuntime } from "../src/index.ts"
import { Ledger } from "../src/run/state/ledger.ts"
import { resolveConfig } from "../src/settings/config/config.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { agent, calls, mortalStore, part, playing } from "./support/agent-scene.ts"
import { runUnder } from "./support/run-under.ts"

const trees = Number(process.env.LONGHAUL_BUDGET_TREES ?? 2)
const points = process.env.LONGHAUL_ALL_CRASHES === "1" ? 400 : 12
const timeout = 600_000

const look = defineTool({
  name: "look",
  description: "looks",
  inputSchema: { type: "object" },
  effect: "none",
  run: () => "nothing",
})
const usage = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
/** An answer costs up to $0.004: 200 tokens at $20 a million; with the conversation never more than $0.006. */
const pricing = { resolvePricing: () => ({ input: 0.1, output: 20 }), limits: { turns: 100_000, usd: 0.05 } }
const ONE_CALL = 0.006

test("20 trees under one $0.05 ledger, with random prices and failures, exceed it by at most one call", {
  tags: ["LOOP-10"],
  timeout,
}, async () => {
  for (let round = 0; round < trees; round++) {
    const ledger = new Ledger({ usd: 0.05 })
    const step: ScriptedStep = async (messages) => {
      await new Promise((done) => setTimeout(done, Math.random() * 3))
      if (Math.random() < 0.2) return { fail: new LonghaulError("network", "gone") }
      const isLead = JSON.stringify(messages[0]).includes("lead")
      const answer = isLead ? calls(agent("work"), agent("work"), agent("work")) : calls(part("look"))
      return { ...answer, usage: { ...usage, outputTokens: Math.ceil(Math.random() * 200) } }
    }
    const store = memoryStore()
    const given: RuntimeConfig = {
      model: scriptedModel(Array(20_000).fill(step)),
      backend: native({ retry: { firstMs: 1, longestMs: 2 } }),
      tools: [look],
      agents: { total: 1000 },
      ...pricing,
    }
    const config = resolveConfig(given, { store: () => store, backend: native, again: createRuntime })
    const results = await Promise.all(
      Array.from({ length: 20 }, () => {
        return runUnder(ledger, config, { task: "lead", maxOutputTokens: 200 })
      }),
    )
    const spent = results.reduce((sum, { usage: { costUsd } }) => sum + (costUsd ?? 0), 0)
    console.log(
      `20 trees under $0.05: $${spent.toFixed(4)} in ${results.reduce((sum, each) => sum + each.turns, 0)} answers`,
    )
    expect(new Set(results.map(({ error }) => error?.code))).toContain("budget_exceeded")
    expect(spent).toBeCloseTo(ledger.spent.usd, 9)
    expect(spent).toBeLessThanOrEqual(0.05 + ONE_CALL)
  }
})

/** Counts the dollars of all answers, also of those that no journal has. */
function metered(model: Model, spend: (usd: number) => void): Model {
  return {
    ...model,
    converse: (setup) => {
      const conversation = model.converse(setup)
      return {
        ...conversation,
        async call(messages, sink, signal) {
          const answer = await conversation.call(messages, sink, signal)
          spend(((answer.usage.outputTokens ?? 0) * 20) / 1_000_000)
          return answer
        },
      }
    },
  }
}

test("a tree that dies after any record and is resumed spends at most one call more than its limit", {
  tags: ["LOOP-10"],
  timeout,
}, async () => {
  const busy = Array(50).fill({ ...calls(part("look")), usage: { ...usage, outputTokens: 150 } })
  const roles = {
    lead: [{ ...calls(agent("a"), agent("b"), agent("c")), usage: { ...usage, outputTokens: 50 } }, "Done."],
    a: busy,
    b: busy,
    c: busy,
  }
  let most = 0
  for (let at = 1; at <= points; at++) {
    const inner = memoryStore()
    let spent = 0
    const spend = (usd: number) => {
      spent += usd
    }
    const config = { tools: [look], agents: {}, ...pricing }
    const dying = mortalStore(inner)
    const first = createRuntime({ ...config, store: dying.store, model: metered(playing(roles), spend) })
    let records = 0
    const onEvent = (event: RunEvent) => {
      if ("seq" in event && ++records > at * 2) dying.die()
    }
    const end = first.run({ task: "lead", runId: "r", maxOutputTokens: 200, onEvent })
    await Promise.race([end, dying.died])
    // What is under way in the dead process stops with it.
    await new Promise((resolve) => setTimeout(resolve, 5))
    const second = createRuntime({ ...config, store: inner, model: metered(playing(roles), spend) })
    const result = await second.resume({ runId: "r", takeover: true })
    if (result.error?.code === "not_found" || result.error?.code === "invalid_state") continue
    expect(result.error?.code).toBe("budget_exceeded")
    most = Math.max(most, spent)
    expect(spent).toBeLessThanOrEqual(0.05 + ONE_CALL)
  }
  console.log(`a tree under $0.05, killed at ${points} points: at most $${most.toFixed(4)}`)
})
