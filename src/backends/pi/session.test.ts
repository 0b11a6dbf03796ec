import { describe, expect, test } from "vitest"
import { hostOf, openingRequest, RecordingHost, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { pi } from "./index.ts"
import type { PiAgentOptions, PiAssistant, PiEvent, PiMessage, PiModel, PiModules, PiPart } from "./shapes.ts"

const model: PiModel = {
  ...{ id: "m", name: "m", api: "openai-responses", provider: "openai", baseUrl: "https://example.com" },
  ...{ reasoning: false, input: ["text"], contextWindow: 100_000, maxTokens: 100 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
}

/** The parts of an answer, or how the model ended it instead. */
type Answer =
  | readonly PiPart[]
  | (Pick<PiAssistant, "content" | "stopReason" | "errorMessage"> & Partial<Pick<PiAssistant, "usage">>)

/** Pi's agent loop as Pi runs it: asks before each request, runs the calls, and asks whether to go on. */
function scripted(answers: readonly Answer[]) {
  const seen = { requests: 0, aborted: false, prompts: 0, replaced: 0 }
  class Agent {
    readonly state: { messages: readonly PiMessage[] } = { messages: [] }
    readonly #options: PiAgentOptions
    #listen: (event: PiEvent) => Promise<void> | void = () => {}
    constructor(options: PiAgentOptions) {
      this.#options = options
    }
    subscribe(listener: (event: PiEvent) => Promise<void> | void) {
      this.#listen = listener
      return () => {}
    }
    steer() {}
    abort() {
      seen.aborted = true
    }
    async prompt(message: PiMessage) {
      seen.prompts++
      this.state.messages = [...this.state.messages, message]
      await this.continue()
    }
    async continue() {
      for (const answer of answers) {
        const prepared = await this.#options.prepareRequest({ context: { messages: this.state.messages } })
        if (prepared !== undefined) seen.replaced++
        if (seen.aborted) return
        seen.requests++
        const message = answerOf(answer)
        const { content } = message
        for (const [contentIndex, part] of content.entries()) {
          const delta = part.type === "text" ? part.text : ""
          await this.#listen({
            type: "message_update",
            assistantMessageEvent: { type: "text_delta", contentIndex, delta },
          })
        }
        this.state.messages = [...this.state.messages, message]
        await this.#listen({ type: "message_end", message })
        for (const part of content) {
          if (part.type !== "toolCall") continue
          const tool = this.#options.initialState.tools.find(({ name }) => name === part.name)
          const result = (await tool?.execute(part.id, part.arguments)) ?? { content: [] }
          await this.#listen({ type: "tool_execution_end", toolCallId: part.id, result })
        }
        const next = await this.#options.finishTurn({ message })
        if (next?.action === "end" || seen.aborted) return
      }
    }
  }
  const modules: PiModules = {
    agent: { Agent },
    ai: {
      getModel: () => model,
      getModels: () => [model],
      streamSimple: () => ({ result: () => Promise.reject(new Error("not used")) }),
    },
  }
  return { seen, modules }
}

function answerOf(answer: Answer): PiAssistant {
  const { content, ...ended } = "content" in answer ? answer : { content: answer }
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  return {
    ...{ role: "assistant", content, api: "a", provider: "openai", model: "m", timestamp: 0 },
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
    stopReason: content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop",
    ...ended,
  }
}

const send: PiPart = { type: "toolCall", id: "w1", name: "send", arguments: { to: "Ada" } }
const say = (text: string): PiPart => ({ type: "text", text })

class PiHost extends RecordingHost {
  turnsLeft = 9
  outcome: ToolOutcome | { readonly status: "suspended" } = { status: "ok", output: [{ type: "text", text: "sent" }] }
  readonly shown: unknown[] = []
  override show(event?: unknown) {
    this.shown.push(event)
  }
  override beginTurn = async () => this.turnsLeft-- > 0
  override async callTool(call: Parameters<RecordingHost["callTool"]>[0]) {
    await super.callTool(call)
    // Safe: the session takes both; the double of the other backends has no suspended calls.
    return this.outcome as ToolOutcome
  }
}

async function run(answers: readonly Answer[], host = new PiHost(() => ({ kind: "run", args: {} }))) {
  const { seen, modules } = scripted(answers)
  const backend = pi({ load: async () => modules, resolvePiApiKey: () => "key" })
  const session = await backend.open({ ...openingRequest, model: "openai:m" }, hostOf(new ScriptedAgent({})))
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  return { stop, host, ...seen }
}

describe("a session with Pi's agent", () => {
  test("runs the calls of the model through the runtime, until it makes no more", async () => {
    const { stop, host, requests } = await run([[say("I send it."), send], [say("Sent.")]])
    expect(stop).toEqual({ reason: "done", text: "Sent." })
    expect([requests, host.ran]).toEqual([2, [["send", { to: "Ada" }]]])
    expect(host.told).toEqual(["text I send it.", 'call send {"to":"Ada"}', "text Sent."])
  })

  test.each([0, 1])("sends no request that the budget refuses, after %i", async (turns) => {
    const host = new PiHost(() => ({ kind: "run", args: {} }))
    host.turnsLeft = turns
    const { stop, requests } = await run([[send], [say("Sent.")]], host)
    expect(stop).toEqual({ reason: "limit" })
    expect(requests).toBe(turns)
  })

  test("makes no further request while a call waits for a person", async () => {
    const host = new PiHost(() => ({ kind: "run", args: {} }))
    host.outcome = { status: "suspended" }
    const { stop, requests } = await run([[send], [say("Sent.")]], host)
    expect(stop).toEqual({ reason: "suspended" })
    expect(requests).toBe(1)
  })

  test("does not run a call under the id of another one of the same answer, and records that it failed", async () => {
    const other: PiPart = { type: "toolCall", id: "w1", name: "send", arguments: { to: "Eve" } }
    const { stop, host } = await run([[send, other], [say("Sent.")]])
    expect(stop).toEqual({ reason: "done", text: "Sent." })
    expect(host.ran).toEqual([["send", { to: "Ada" }]])
    expect(host.told).toEqual(['call send {"to":"Ada"}', 'call send {"to":"Eve"}', "result error", "text Sent."])
  })

  test("leaves Pi its own messages as long as nothing was shortened", async () => {
    const { requests, replaced } = await run([[send], [say("Sent.")]])
    expect([requests, replaced]).toEqual([2, 0])
  })

  test("does not start Pi's agent if it was closed before", async () => {
    const { seen, modules } = scripted([[say("Hello.")]])
    const backend = pi({ load: async () => modules, resolvePiApiKey: () => "key" })
    const session = await backend.open({ ...openingRequest, model: "openai:m" }, hostOf(new ScriptedAgent({})))
    await session.close()
    const host = new PiHost(() => ({ kind: "run", args: {} }))
    const input = { kind: "prompt", content: [{ type: "text", text: "Go." }] } as const
    expect(await session.run(input, host)).toEqual({ reason: "interrupted" })
    expect(seen).toMatchObject({ prompts: 0, requests: 0 })
  })

  test("ends with an answer that was cut at the output limit, which is neither reviewed nor continued", async () => {
    const host = new PiHost(() => ({ kind: "run", args: {} }))
    const reviewed: string[] = []
    host.review = async (...texts: string[]) => {
      reviewed.push(...texts)
      return undefined
    }
    const { stop, requests } = await run([{ content: [say("Once upon")], stopReason: "length" }, [say("a time")]], host)
    expect(stop).toEqual({ reason: "output-limit" })
    expect([requests, reviewed]).toEqual([1, []])
  })

  test("without a compaction fails with the model's refusal of a long conversation", async () => {
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
  ])("records what a failed request cost: %s", async (_, answer, expected) => {
    const { host } = await run([answer])
    const metered = host.events.flatMap((event) => (event.type === "metering" ? [event] : []))
    const failed = expected && "inputTokens" in expected && expected.inputTokens === 0 ? "unreported" : "reported"
    expect(metered).toMatchObject(expected === undefined ? [] : [{ failed, usage: expected }])
  })

  test("shows what the model is writing only if someone looks", async () => {
    const unseen = await run([[say("Hello.")]])
    expect(unseen.host.shown).toEqual([])
    const watched = new (class extends PiHost {
      override readonly deltas = true
    })(() => ({ kind: "run", args: {} }))
    await run([[say("Hello.")]], watched)
    expect(watched.shown).toEqual([{ type: "text-delta", id: "1.0", delta: "Hello." }])
  })
})
