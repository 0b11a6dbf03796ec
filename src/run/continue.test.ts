import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { fsStore } from "../hosts/node/store/fs-store.ts"
import type { Message, RunRecord, RuntimeConfig, Store } from "../index.ts"
import { createRuntime, defineTool } from "../index.ts"
import { runPath } from "../journal/paths.ts"
import { memoryStore } from "../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../testing/index.ts"

const pay = defineTool({ name: "pay", description: "Pays.", inputSchema: { type: "object" }, run: () => "paid" })
const callsPay: ScriptedStep = { parts: [{ toolCall: { name: "pay", args: { usd: 5 } } }] }
const asksBeforePay: RuntimeConfig = { hooks: { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) } }

/** Another runtime over the same store, like that of another process. */
function processOver(store: Store, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const model = scriptedModel(steps)
  return { model, runtime: createRuntime({ model, store, tools: [pay], ...config }) }
}

const said = (messages: readonly Message[] | undefined) =>
  messages?.flatMap(({ role, content }) =>
    content.map((part) => `${role}: ${part.type === "text" ? part.text : part.type}`),
  )

async function recordsOf(store: Store, nodeId: string): Promise<RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of createRuntime({ store }).events("talk", { nodeId })) records.push(record)
  return records
}

describe("a conversation", () => {
  test("a conversation continues in another process: the model gets all messages, the journal only new ones", async () => {
    const store = memoryStore()
    const first = processOver(store, [callsPay, "Paid 5."])
    await first.runtime.run({ task: "Pay 5", runId: "talk", system: "Be brief.", metadata: { user: "ann" } })
    const second = processOver(store, ["You paid 5."])
    expect(await second.runtime.continue("talk", "How much was it?")).toMatchObject({
      status: "done",
      runId: "talk",
      nodeId: "main__2",
      text: "You paid 5.",
      turns: 1,
    })
    const third = processOver(store, ["Bye."])
    const handle = await third.runtime.continueStream("talk", "Thanks.")
    expect(await handle.result).toMatchObject({ status: "done", nodeId: "main__3", text: "Bye." })
    expect(said(third.model.calls[0])).toEqual([
      "user: Pay 5",
      "assistant: tool-call",
      "tool: tool-result",
      "assistant: Paid 5.",
      "user: How much was it?",
      "assistant: You paid 5.",
      "user: Thanks.",
    ])
    const [start] = await recordsOf(store, "main__3")
    expect(start).toMatchObject({
      type: "run-start",
      continues: "main__2",
      input: { system: "Be brief.", metadata: { user: "ann" }, messages: [{ content: [{ text: "Thanks." }] }] },
    })
    expect(JSON.stringify(await recordsOf(store, "main__3"))).not.toContain("Pay 5")
    expect((await third.runtime.runs()).map(({ nodeId, continues }) => [nodeId, continues])).toEqual(
      expect.arrayContaining([
        ["main", undefined],
        ["main__2", "main"],
        ["main__3", "main__2"],
      ]),
    )
  })

  test("journals of a conversation grow linearly with its messages", async () => {
    const store = memoryStore()
    const task = "x".repeat(1000)
    const { runtime } = processOver(
      store,
      Array.from({ length: 12 }, () => "y".repeat(1000)),
    )
    await runtime.run({ task, runId: "talk" })
    for (let exchange = 2; exchange <= 12; exchange++) await runtime.continue("talk", task)
    const size = async (nodeId: string) => JSON.stringify(await recordsOf(store, nodeId)).length
    expect(Math.abs((await size("main__12")) - (await size("main__2")))).toBeLessThan(100)
  })

  test("a paused exchange is resumed with the whole conversation in another process", async () => {
    const store = memoryStore()
    await processOver(store, ["Hello."]).runtime.run({ task: "Hi", runId: "talk" })
    const paused = await processOver(store, [callsPay], asksBeforePay).runtime.continue("talk", "Pay 5")
    expect(paused).toMatchObject({ status: "paused", nodeId: "main__2" })
    const { runtime, model } = processOver(store, ["Paid."], asksBeforePay)
    expect(await runtime.continue("talk", "Well?")).toMatchObject({
      status: "failed",
      error: { code: "invalid_state", fix: expect.stringContaining("Resume it") },
    })
    const { nodeId } = paused
    expect(await runtime.resume({ runId: "talk", nodeId, decision: "approve" })).toMatchObject({ status: "done" })
    expect(said(model.calls[0])).toEqual([
      "user: Hi",
      "assistant: Hello.",
      "user: Pay 5",
      "assistant: tool-call",
      "tool: tool-result",
    ])
  })

  test("a conversation continues after a failed exchange, with other settings if given", async () => {
    const store = memoryStore()
    const { runtime } = processOver(store, [callsPay, "Sorry."])
    const failed = await runtime.run({ task: "Pay", runId: "talk", limits: { turns: 1 } })
    expect(failed).toMatchObject({ status: "failed", error: { code: "max_turns" } })
    expect(await runtime.continue("talk", "Go on", { limits: { turns: 3 } })).toMatchObject({ status: "done" })
  })

  test("of two concurrent continues one succeeds, the other gets run_active", async () => {
    for (let round = 0; round < 20; round++) {
      const store = memoryStore()
      await processOver(store, ["Hello."]).runtime.run({ task: "Hi", runId: "talk" })
      const both = await Promise.all(
        ["one", "two"].map((text) => processOver(store, [text]).runtime.continue("talk", text)),
      )
      expect(both.map(({ status }) => status).sort()).toEqual(["done", "failed"])
      expect(both.find(({ status }) => status === "failed")?.error?.code).toBe("run_active")
    }
  })

  test("a fork of an exchange is independent, and removing the run removes all its exchanges", async () => {
    const store = memoryStore()
    const { runtime, model } = processOver(store, ["Hello.", "Two.", "Other.", "More."])
    await runtime.run({ task: "Hi", runId: "talk" })
    await runtime.continue("talk", "Second")
    const { runId, nodeId } = await runtime.fork("talk", { nodeId: "main__2", at: 0 })
    expect(nodeId).toBe("main")
    expect(await runtime.remove("talk")).toBe(true)
    expect((await runtime.status("talk", "main__2")).status).toBe("not_found")
    expect(await runtime.continue("talk", "There?")).toMatchObject({ status: "failed", error: { code: "not_found" } })
    expect(await runtime.resume({ runId, nodeId })).toMatchObject({ status: "done", text: "Other." })
    expect(said(model.calls[2])).toEqual(["user: Hi", "assistant: Hello.", "user: Second"])
    expect(await runtime.continue(runId, "Third")).toMatchObject({ status: "done", nodeId: "main__2" })
  })

  test("a conversation continues after a process died while starting the next exchange", async () => {
    const folder = await mkdtemp(join(tmpdir(), "longhaul-continue-"))
    const store = fsStore(folder)
    const { runtime } = processOver(store, ["Hello.", "Two."])
    await runtime.run({ task: "Hi", runId: "talk" })
    await mkdir(join(folder, runPath({ workspaceId: "default", runId: "talk", nodeId: "main__2" })), {
      recursive: true,
    })
    expect(await runtime.continue("talk", "Second")).toMatchObject({ status: "done", nodeId: "main__2", text: "Two." })
    await rm(folder, { recursive: true })
  })

  test("invalid input is a failed result with the reason", async () => {
    const store = memoryStore()
    const { runtime } = processOver(store, ["Hello."])
    await runtime.run({ task: "Hi", runId: "talk" })
    const code = async (...args: Parameters<typeof runtime.continue>) => (await runtime.continue(...args)).error?.code
    expect(await code("nothing", "x")).toBe("not_found")
    expect(await code("../x", "x")).toBe("config_invalid")
    expect(await code("talk", " ")).toBe("config_invalid")
    expect(await code("talk", "x", { limit: {} } as never)).toBe("config_invalid")
    await expect(runtime.continueStream("nothing", "x")).rejects.toMatchObject({ code: "not_found" })
  })
})
