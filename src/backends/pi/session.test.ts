import { describe, expect, test } from "vitest"
import { hostOf, openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import { type Answer, PiHost, run, say, scripted, send } from "../../../test/support/scripted-pi.ts"
import type { Message } from "../../contract/message.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { pi } from "./index.ts"
import type { PiPart } from "./shapes.ts"

describe("a session with Pi's agent", () => {
  test("a session runs the calls of the model through the runtime, until the model stops calling", async () => {
    const { stop, host, requests } = await run([[say("I send it."), send], [say("Sent.")]])
    expect(stop).toEqual({ reason: "done", text: "Sent." })
    expect([requests, host.ran]).toEqual([2, [["send", { to: "Ada" }]]])
    expect(host.told).toEqual(["text I send it.", 'call send {"to":"Ada"}', "text Sent."])
  })

  test.each([0, 1])("a session sends no request that the budget refuses, after %i", async (turns) => {
    const host = new PiHost()
    host.turnsLeft = turns
    const { stop, requests } = await run([[send], [say("Sent.")]], host)
    expect(stop).toEqual({ reason: "limit" })
    expect(requests).toBe(turns)
  })

  test("a session makes no further request while a call waits for a person", async () => {
    const host = new PiHost()
    host.outcome = { status: "suspended" }
    const { stop, requests } = await run([[send], [say("Sent.")]], host)
    expect(stop).toEqual({ reason: "suspended" })
    expect(requests).toBe(1)
  })

  test("a session does not run a call under the id of another one of the same answer, and records that it failed", async () => {
    const other: PiPart = { type: "toolCall", id: "w1", name: "send", arguments: { to: "Eve" } }
    const { stop, host } = await run([[send, other], [say("Sent.")]])
    expect(stop).toEqual({ reason: "done", text: "Sent." })
    expect(host.ran).toEqual([["send", { to: "Ada" }]])
    expect(host.told).toEqual(['call send {"to":"Ada"}', 'call send {"to":"Eve"}', "result error", "text Sent."])
  })

  test("a session leaves Pi its own messages as long as nothing was shortened", async () => {
    const { requests, replaced } = await run([[send], [say("Sent.")]])
    expect([requests, replaced]).toEqual([2, 0])
  })

  test("a session does not start Pi's agent if it was closed before", async () => {
    const { seen, modules } = scripted([[say("Hello.")]])
    const backend = pi({ load: async () => modules, resolvePiApiKey: () => "key" })
    const session = await backend.open({ ...openingRequest, model: "openai:m" }, hostOf(new ScriptedAgent({})))
    await session.close()
    const host = new PiHost()
    const input = { kind: "prompt", content: [{ type: "text", text: "Go." }] } as const
    expect(await session.run(input, host)).toEqual({ reason: "interrupted" })
    expect(seen).toMatchObject({ prompts: 0, requests: 0 })
  })

  test("a session ends with an answer that was cut at the output limit, which is neither reviewed nor continued", async () => {
    const host = new PiHost()
    const reviewed: string[] = []
    host.review = async (...texts: string[]) => {
      reviewed.push(...texts)
      return undefined
    }
    const { stop, requests } = await run([{ content: [say("Once upon")], stopReason: "length" }, [say("a time")]], host)
    expect(stop).toEqual({ reason: "output-limit" })
    expect([requests, reviewed]).toEqual([1, []])
  })

  test("a session without a compaction fails with the model's refusal of a long conversation", async () => {
    const errorMessage = "413 prompt is too long"
    const { stop } = await run([{ content: [], stopReason: "error", errorMessage }])
    expect(stop).toMatchObject({ reason: "failed", failure: { code: "context_overflow", message: errorMessage } })
  })

  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  const reported = { input: 90, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 91, cost }
  const nothing = { ...reported, input: 0, output: 0, totalTokens: 0 }
  const letter: PiPart = { type: "toolCall", id: "w1", name: "send", arguments: { to: "x".repeat(391) } }
  const terminated = { stopReason: "error", errorMessage: "terminated" } as const

  test.each<readonly [string, Answer & object, object | undefined]>([
    [
      "a cut text",
      { content: [say("x".repeat(400))], usage: reported, ...terminated },
      { inputTokens: 90, outputTokens: 100 },
    ],
    ["cut arguments", { content: [letter], usage: reported, ...terminated }, { inputTokens: 90, outputTokens: 100 }],
    ["a stopped answer", { content: [say("x")], usage: reported, stopReason: "aborted" }, { inputTokens: 90 }],
    ["an unreported text", { content: [say("x")], usage: nothing, ...terminated }, { inputTokens: 0 }],
    ["a refusal", { content: [], usage: nothing, stopReason: "error", errorMessage: "529 overloaded" }, undefined],
  ])("a session records what a failed request cost: %s", async (_, answer, expected) => {
    const { host } = await run([answer])
    const metered = host.events.flatMap((event) => (event.type === "metering" ? [event] : []))
    const failed = expected && "inputTokens" in expected && expected.inputTokens === 0 ? "unreported" : "reported"
    expect(metered).toMatchObject(expected === undefined ? [] : [{ failed, usage: expected }])
  })

  test("a session shortens what it was given to the window that Pi knows, and sends each message once", async () => {
    const call = (callId: string): Message => ({
      role: "assistant",
      content: [{ type: "tool-call", callId, name: "send", args: {} }],
    })
    const result = (callId: string): Message => ({
      role: "tool",
      content: [
        {
          type: "tool-result",
          callId,
          status: "ok",
          output: [{ type: "text", text: "All about sheep. ".repeat(6_000) }],
        },
      ],
    })
    const task: Message = { role: "user", content: [{ type: "text", text: "Count the sheep." }] }
    const ids = ["c1", "c2", "c3", "c4", "c5", "c6"]
    const said = [
      { turn: 0, message: task },
      ...ids.flatMap((id, at) => [call(id), result(id)].map((message) => ({ turn: at + 1, message }))),
    ]
    const messages = said.map(({ message }) => message)
    const host = new PiHost()
    // The table has 100,000 tokens: fewer than the conversation, and than what the runtime assumes.
    const context = { at: 0.8, window: 500_000, isAssumed: true, said, recent: [], isAsked: false }
    const from = { kind: "history", messages, turns: ids.length, brief: () => "" } as const
    const { stop, messages: sent } = await run([[say("Six.")]], host, { from, context })
    expect(stop).toEqual({ reason: "done", text: "Six." })
    expect(host.told).not.toContain("warning context_window_assumed")
    const [request = []] = sent
    expect(JSON.stringify(request).length).toBeLessThan(400_000)
    expect(request.filter((message) => JSON.stringify(message).includes("Count the sheep."))).toHaveLength(1)
    expect(JSON.stringify(request.at(-1))).toContain("Go.")
  })

  test("a session reserves for all that was said before", async () => {
    const { host } = await run([[say("word ".repeat(2_000)), send], [say("Sent.")]])
    const [first = 0, second = 0] = host.bounds
    expect(second - first).toBeGreaterThan(2_000)
  })

  test("a session tells that it has no agents of its own and shortened nothing", async () => {
    const { modules } = scripted([[say("Hello.")]])
    const backend = pi({ load: async () => modules, resolvePiApiKey: () => "key" })
    const runtime = createRuntime({ store: memoryStore(), backend, model: "openai:m" })
    const { status, capabilitiesUsed } = await runtime.run({ task: "Go." })
    expect(status).toBe("done")
    expect(capabilitiesUsed).toMatchObject({ subagentInvoked: false, contextCompactionApplied: false })
  })

  test("a session shows what the model is writing only if someone looks", async () => {
    const unseen = await run([[say("Hello.")]])
    expect(unseen.host.shown).toEqual([])
    const watched = new (class extends PiHost {
      override readonly deltas = true
    })()
    await run([[say("Hello.")]], watched)
    expect(watched.shown).toEqual([{ type: "text-delta", id: "1.0", delta: "Hello." }])
  })
})
