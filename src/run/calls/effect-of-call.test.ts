import { describe, expect, test } from "vitest"
import { until } from "../../../test/support/watchdog.ts"
import type { Model } from "../../contract/provider.ts"
import type { Store } from "../../contract/store.ts"
import { type Effect, type Tool, ToolError } from "../../contract/tool.ts"
import { createRuntime } from "../../index.ts"
import { isJsonObject } from "../../lib/json.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { createDispatcher } from "../../tools/kernel/dispatch.ts"
import { createToolContext } from "../../tools/kernel/tool-context.ts"

/** A tool whose effect is one of its arguments. */
function byArgument(more: Partial<Tool> = {}): Tool {
  return {
    name: "act",
    description: "acts",
    inputSchema: { type: "object" },
    effect: "once",
    effectOf(args) {
      const effect = isJsonObject(args) ? args.effect : undefined
      if (effect === "throw") throw new Error("x")
      return effect as Effect // Safe: anything else must count as the strictest one.
    },
    concurrent: false,
    risk: "low",
    run: () => "acted",
    ...more,
  }
}

const acting = (...effects: readonly unknown[]) => ({
  parts: effects.map((effect) => ({ toolCall: { name: "act", args: { effect: effect as string } } })),
})

async function intentsOf(runtime: ReturnType<typeof createRuntime>, runId: string) {
  const intents = []
  for await (const record of runtime.events(runId)) if (record.type === "tool-intent") intents.push(record.effect)
  return intents
}

describe("a tool whose effect depends on its arguments", () => {
  test("a tool records the effect of each call, and the strictest one where it cannot tell", async () => {
    const model = scriptedModel([acting("none", "repeatable", "once", "throw", "other", null), "done"])
    const runtime = createRuntime({ model, store: memoryStore(), tools: [byArgument()] })
    expect((await runtime.run({ task: "x", runId: "r" })).status).toBe("done")
    expect(await intentsOf(runtime, "r")).toEqual(["repeatable", "once", "once", "once", "once"])
  })

  test("a tool decides its effect by the real arguments, not by masked ones", async () => {
    const secrets = { WORD: "none-of-it-is-known" }
    const seen: unknown[] = []
    const tool = byArgument({
      effectOf(args) {
        seen.push(isJsonObject(args) && args.effect)
        return "none"
      },
    })
    const runtime = createRuntime({
      model: scriptedModel([acting(secrets.WORD), "done"]),
      store: memoryStore(),
      tools: [tool],
      secrets,
    })
    await runtime.run({ task: "x", runId: "r" })
    expect(new Set(seen)).toEqual(new Set([secrets.WORD]))
    expect(await intentsOf(runtime, "r")).toEqual([])
  })

  test("a tool whose effect depends on its arguments is never started before the answer that calls it is complete", async () => {
    const order: string[] = []
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
    const model: Model = {
      provider: "p",
      id: "m",
      converse: () => ({
        async call(messages, sink) {
          if (messages.length > 1) return { parts: [{ type: "text", text: "x" }], stopReason: "end", usage, model: "m" }
          const parts = ["act", "plain"].map(
            (name) => ({ type: "tool-call", wireId: name, name, args: { effect: "none" } }) as const,
          )
          for (const [index, part] of parts.entries()) sink.call?.(part, index)
          await until(() => order.includes("plain"))
          order.push("answer")
          return { parts, stopReason: "tool-calls", usage, model: "m" }
        },
      }),
    }
    const tool = (name: string, more: Partial<Tool>) =>
      byArgument({ name, effect: "none", concurrent: true, run: () => order.push(name), ...more })
    const { effectOf: _, ...plain } = tool("plain", {})
    const runtime = createRuntime({ model, store: memoryStore(), tools: [tool("act", {}), plain] })
    expect((await runtime.run({ task: "x" })).status).toBe("done")
    expect(order).toEqual(["plain", "answer", "act"])
  })

  test("a tool runs calls without an effect side by side, and others one after another", async () => {
    const mostOf = async (effect: Effect, allowed: number) => {
      let running = 0
      let most = 0
      const run = async () => {
        most = Math.max(most, ++running)
        await until(() => most >= allowed)
        // Time in which one too many could start.
        await new Promise((resolve) => setTimeout(resolve, 5))
        running--
      }
      const model = scriptedModel([acting(effect, effect, effect), "done"])
      await createRuntime({ model, store: memoryStore(), tools: [byArgument({ run })] }).run({ task: "x" })
      return most
    }
    expect([await mostOf("none", 3), await mostOf("repeatable", 1), await mostOf("once", 1)]).toEqual([3, 1, 1])
  })
})

describe("the dispatcher", () => {
  const context = createToolContext()

  test.each([
    ["none", "error"],
    ["repeatable", "unknown"],
    ["once", "unknown"],
    ["other", "unknown"],
  ])("the dispatcher flags a lost outcome and a stop of a call with the effect %s as %s", async (effect, status) => {
    const lost = byArgument({ run: () => Promise.reject(new ToolError("outcome_unknown", "Lost.")) })
    const signal = new AbortController().signal
    const call = { name: "act", args: { effect } }
    expect(await createDispatcher([lost]).dispatch(call, { ...context, signal })).toMatchObject({ status })
    const stopping = new AbortController()
    const hanging = byArgument({
      run: () => {
        stopping.abort()
        return new Promise(() => {})
      },
    })
    const stopped = createDispatcher([hanging]).dispatch(call, { ...context, signal: stopping.signal })
    expect(await stopped).toMatchObject({ status })
  })
})

/** A run that hangs within a call, as an unresponsive process leaves it. */
async function leftWithin(store: Store, effect: Effect): Promise<void> {
  let started = () => {}
  const isStarted = new Promise<void>((resolve) => {
    started = resolve
  })
  const hanging = byArgument({
    run: () => {
      started()
      return new Promise(() => {})
    },
  })
  const runtime = createRuntime({ model: scriptedModel([acting(effect)]), store, tools: [hanging] })
  void runtime.run({ task: "x", runId: "r" })
  await isStarted
}

test.each([["repeatable"], ["once"]] as const)(
  "a takeover of a run within a call with the effect %s repeats nothing",
  async (effect) => {
    const store = memoryStore()
    await leftWithin(store, effect)
    let repeated = 0
    const tool = byArgument({ run: () => void repeated++ })
    const runtime = createRuntime({ model: scriptedModel(["done"]), store, tools: [tool] })
    const result = await runtime.resume({ runId: "r", takeover: true })
    expect([result.toolCalls[0]?.status, repeated]).toEqual(["unknown", 0])
  },
)
