import { describe, expect, test } from "vitest"
import type { RunEvent } from "../../contract/event.ts"
import type { Extension } from "../../contract/extension.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import type { Store } from "../../contract/store.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"

/** An extension whose tool asks a person, or has to be approved. */
function weather(ran: string[], risk: "low" | "high" = "low"): Extension {
  const tool = defineTool({
    name: "Weather",
    description: "Tells the weather.",
    inputSchema: { type: "object" },
    effect: "once",
    risk,
    run(_, { ask, answered }: ToolContext) {
      if (risk === "low" && !answered) return ask?.("Where?", {})
      ran.push(answered?.text ?? "approved")
      return "sunny"
    },
  })
  return { name: "weather", open: () => ({ tools: [tool], instructions: "Ask Weather." }) }
}

const call = { parts: [{ toolCall: { name: "Weather", args: {} } }] }

function processOver(store: Store, config: RuntimeConfig = {}) {
  const step = (messages: readonly { readonly role: string }[]) =>
    messages.some(({ role }) => role === "tool") ? "Done." : call
  return createRuntime({ store, model: scriptedModel([step, step, step]), policy: { ask: "pause" }, ...config })
}

async function warningsOf(runtime: ReturnType<typeof createRuntime>, nodeId = "main") {
  const found: string[] = []
  for await (const event of runtime.events("r", { nodeId })) {
    if (event.type === "warning" && event.code === "extension_missing") found.push(event.message)
  }
  return found
}

describe("a run whose extension is not configured when it is resumed", () => {
  test("a run whose extension is missing gets a warning with its name, its tools and the fix, which listeners receive, too", async () => {
    const store = memoryStore()
    await processOver(store, { extensions: [weather([])] }).run({ runId: "r", task: "x" })
    const bare = processOver(store)
    const seen: RunEvent[] = []
    const done = await bare.resume({ runId: "r", decision: "deny", onEvent: (event) => seen.push(event) })
    expect(done).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(done.warnings).toMatchObject([{ code: "extension_missing" }])
    const [message] = await warningsOf(bare)
    expect(message).toContain("weather")
    expect(message).toContain("Weather")
    expect(message).toContain("extensions: [")
    expect(seen.filter(({ type }) => type === "warning")).toHaveLength(1)
  })

  test("a run gets no warning if the extension is passed to resume, to createRuntime, or was never there", async () => {
    for (const [first, config, given] of [
      [{ extensions: [weather([])] }, {}, { extensions: [weather([])] }],
      [{ extensions: [weather([])] }, { extensions: [weather([])] }, {}],
    ] as const) {
      const store = memoryStore()
      await processOver(store, first).run({ runId: "r", task: "x" })
      const runtime = processOver(store, config)
      expect(await runtime.resume({ runId: "r", answer: "Oslo", ...given })).toMatchObject({
        status: "done",
        warnings: [],
      })
    }
  })

  test.each([
    ["an answer to its question", "low", { answer: "Oslo" }, "Oslo"],
    ["an approval of its call", "high", { decision: "approve" }, "approved"],
  ] as const)(
    "a run whose extension is missing refuses %s, which would be lost, before anything is recorded",
    async (_name, risk, given, expected) => {
      const store = memoryStore()
      const ran: string[] = []
      await processOver(store, { extensions: [weather(ran, risk)] }).run({ runId: "r", task: "x" })
      const refused = await processOver(store).resume({ runId: "r", ...given })
      expect(refused).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
      expect(refused.error?.message).toContain("weather")
      expect(await processOver(store).status("r")).toMatchObject({ status: "paused", warnings: [] })
      const done = await processOver(store, { extensions: [weather(ran, risk)] }).resume({ runId: "r", ...given })
      expect(done).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
      expect(ran).toEqual([expected])
    },
  )

  test("a run whose extension is missing takes the answer of a person in place of the call, which needs no tool", async () => {
    const store = memoryStore()
    await processOver(store, { extensions: [weather([], "high")] }).run({ runId: "r", task: "x" })
    const done = await processOver(store).resume({ runId: "r", answer: "rain" })
    expect(done).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(done.toolCalls[0]?.result).toContain("rain")
  })
})

test("the next exchange of a conversation warns of an extension that the one before had, and the one after it does not", async () => {
  const store = memoryStore()
  const one = createRuntime({ store, model: scriptedModel(["One."]), extensions: [weather([])] })
  await one.run({ runId: "r", task: "x" })
  const bare = createRuntime({ store, model: scriptedModel(["Two.", "Three."]) })
  expect(await bare.continue("r", "And?")).toMatchObject({ warnings: [{ code: "extension_missing" }] })
  expect(await bare.continue("r", "And?")).toMatchObject({ warnings: [] })
})
