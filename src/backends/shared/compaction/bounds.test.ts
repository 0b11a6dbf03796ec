import { describe, expect, test } from "vitest"
import { LonghaulError } from "../../../contract/error.ts"
import type { Json } from "../../../contract/json.ts"
import type { Message } from "../../../contract/message.ts"
import { AGENT_ENDED } from "../../../lib/compaction/agent-messages.ts"
import { type ScriptedStep, scriptedModel } from "../../../testing/index.ts"
import { createCompactionManager, estimateFirstTurnInput } from "./index.ts"

const WINDOW = 12_000
const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
const call = (callId: string, args: Json = {}): Message => ({
  role: "assistant",
  content: [{ type: "tool-call", callId, name: "page", args }],
})
const result = (callId: string, text: string, status: "ok" | "error" = "ok"): Message => ({
  role: "tool",
  content: [{ type: "tool-result", callId, status, output: [{ type: "text", text }] }],
})
const sheep = (count: number) => "All about sheep. ".repeat(count)

function managed(steps: readonly ScriptedStep[], messages: readonly Message[], keep = 2000) {
  const model = scriptedModel(steps)
  const warnings: string[] = []
  const manager = createCompactionManager({
    ...{ model, window: WINDOW, keep, answerTokens: 100, retry: { attempts: 1 } },
    onWarning: ({ code }) => warnings.push(code),
  })
  manager.add(user("Count the sheep."), ...messages)
  return { manager, model, warnings, size: () => estimateFirstTurnInput({ messages: manager.messages }) }
}

describe("what can be shortened", () => {
  test("the answers of many agents in the background are clipped like results, and none is dropped", async () => {
    const answers = Array.from({ length: 20 }, (_, index) => user(`${AGENT_ENDED}\nAgent ${index}. ${sheep(400)}`))
    const { manager, size } = managed([], [call("c1"), result("c1", "started"), ...answers])
    expect(size()).toBeGreaterThan(WINDOW)
    const compaction = await manager.beforeRequest()
    expect(Object.keys(compaction?.results?.messages ?? {})).toHaveLength(20)
    expect(size()).toBeLessThan(0.8 * WINDOW)
    for (let index = 0; index < 20; index++) expect(JSON.stringify(manager.messages)).toContain(`Agent ${index}.`)
  })

  test("a last turn that needs all the room is clipped without a summary, and no older failure with it", async () => {
    const failure = `It failed. ${sheep(450)}`
    const last = ["c2", "c3", "c4"].map((callId) => result(callId, sheep(2000)))
    const { manager, model, warnings } = managed([], [call("c1"), result("c1", failure, "error"), call("c2"), ...last])
    const compaction = await manager.beforeRequest()
    expect(Object.keys(compaction?.results?.keep ?? {})).toEqual(["c2", "c3", "c4"])
    expect(compaction).not.toHaveProperty("head")
    expect([model.calls, warnings]).toEqual([[], []])
    expect(JSON.stringify(manager.messages)).toContain(failure)
  })

  test("short results of a last turn that is clipped stay whole and leave the rest of their share to long ones", async () => {
    const [long, short] = [sheep(4000), sheep(5)]
    const last = [call("c2"), result("c2", long), result("c3", short), result("c4", short)]
    const { manager } = managed([], [call("c1"), result("c1", "x"), ...last])
    const { results } = (await manager.beforeRequest()) ?? {}
    expect(Object.keys(results?.keep ?? {})).toEqual(["c2"])
    expect(results?.keep?.c2).toBeGreaterThan(long.length / 5)
  })

  test("what is behind a summary is shortened only if it is more than the last turn; a request for it is a warning", async () => {
    const { manager, model, warnings } = managed(["Goal: sheep."], [call("c1"), result("c1", sheep(10)), call("c2")])
    manager.add(result("c2", sheep(10)))
    expect(await manager.compact()).toMatchObject({ cause: "asked", head: {} })
    const shortened = manager.messages
    expect(await manager.compact()).toBeUndefined()
    expect([model.calls.length, warnings]).toEqual([1, ["compaction_not_possible"]])
    expect(manager.messages).toEqual(shortened)
  })

  test("what a person writes beside the answers of agents is never clipped", async () => {
    const words = `Do as I say. ${sheep(300)}`
    const answers = Array.from({ length: 20 }, () => user(`${AGENT_ENDED}\n${sheep(400)}`))
    const { manager } = managed([], [call("c1"), result("c1", "started"), ...answers, user(words)])
    await manager.beforeRequest()
    expect(manager.messages.at(-1)?.content.at(-1)).toEqual({ type: "text", text: words })
  })

  test("long arguments of old calls lose the middle of their texts, without a model", async () => {
    const turns = Array.from({ length: 8 }, (_, index) => [
      call(`c${index}`, { path: `${index}.txt`, parts: [{ text: `begin ${index} ${sheep(400)}` }], mode: 7 }),
      result(`c${index}`, "written"),
    ])
    const { manager, model, size } = managed([], turns.flat())
    const compaction = await manager.beforeRequest()
    expect(Object.keys(compaction?.results?.args ?? {})).toContain("c0")
    expect(compaction?.results?.args).not.toHaveProperty("c7")
    expect(model.calls).toHaveLength(0)
    expect(size()).toBeLessThan(0.5 * WINDOW)
    const [part] = manager.messages[1]?.content ?? []
    expect(part).toMatchObject({
      callId: "c0",
      args: {
        path: "0.txt",
        mode: 7,
        parts: [{ text: expect.stringMatching(/^begin 0.*left out here.*sheep\. $/s) }],
      },
    })
    expect(manager.messages.at(-2)).toEqual(turns[7]?.[0])
  })

  test("the results of the last turn, and results of failed calls, are never removed", async () => {
    const old = Array.from({ length: 7 }, (_, index) => [call(`c${index}`), result(`c${index}`, sheep(400))])
    const failed = [call("failed"), result("failed", `No sheep: ${sheep(60)}`, "error")]
    const last = [call("last"), result("last", sheep(600))]
    const { manager } = managed([], [...failed, ...old.flat(), ...last])
    const { results } = (await manager.beforeRequest()) ?? {}
    expect(Object.keys(results?.keep ?? {})).toContain("c0")
    expect(results?.keep).not.toHaveProperty("last")
    expect(results?.keep).not.toHaveProperty("failed")
    expect(manager.messages.slice(-2)).toEqual(last)
  })
})

describe("a summary", () => {
  const talk = Array.from({ length: 30 }, (_, index) => [
    { role: "assistant", content: [{ type: "text", text: `${index} ${sheep(50)}` }] } as const,
    user(`go on ${index}`),
  ]).flat()

  test("a summary that is no smaller than what it replaces is refused, and an extract taken instead", async () => {
    const { manager, warnings, size } = managed([sheep(4000)], [...talk, ...talk])
    const before = size()
    expect(before).toBeGreaterThan(0.8 * WINDOW)
    await manager.beforeRequest()
    expect(warnings).toEqual(["compaction_degraded"])
    expect(size()).toBeLessThan(before / 2)
  })
})

describe("a window that a refusal tells about", () => {
  const refusal = (message: string, status = 400) =>
    new LonghaulError("context_overflow", message, { data: { status } })
  const turns = Array.from({ length: 8 }, (_, index) => [call(`c${index}`), result(`c${index}`, sheep(400))]).flat()
  const usage = { inputTokens: 9_000, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
  const cut = { ...usage, inputTokens: 0, outputTokens: 0 }

  test.each([
    ["an answer cut with a usage of 0", refusal("The answer was cut."), cut],
    ["the number of tokens over it", refusal("This exceeds the context window by 1123 tokens."), undefined],
    ["a smaller number", refusal("maximum context length is 4096 tokens"), undefined],
  ])("a window is never below a request that was accepted: %s", async (_, error, told) => {
    const { manager } = managed(["Summary."], turns)
    manager.settle(usage)
    const compaction = await manager.onOverflow(error, told)
    expect(compaction?.window).toBeGreaterThanOrEqual(9_000)
  })

  test("a window stays as it is after a refusal of the body's size in bytes", async () => {
    const { manager, size } = managed(["Summary."], turns.slice(0, 8))
    expect(size()).toBeLessThan(0.8 * WINDOW)
    const compaction = await manager.onOverflow(refusal("Request exceeds the maximum size: 33554432 bytes.", 413))
    expect(compaction?.window).toBe(WINDOW)
  })

  test.each([
    ["of the body's size in bytes", refusal("Request exceeds the maximum size: 33554432 bytes.", 413)],
    ["without a number", refusal("The prompt is too long.")],
  ])("a conversation becomes about half as long after a refusal %s", async (_, error) => {
    const { manager, size } = managed(["Summary."], [call("c"), result("c", sheep(1500))])
    const before = size()
    const compaction = await manager.onOverflow(error)
    expect(compaction?.tokens.after).toBeLessThan(0.55 * before)
  })

  test("a window is what the refusal names", async () => {
    const { manager } = managed(["Summary."], turns)
    const compaction = await manager.onOverflow(refusal("maximum context length is 4096 tokens"))
    expect(compaction?.window).toBe(4096)
  })
})

test("a third refusal of one turn ends the run, even if the conversation could be shortened again", async () => {
  const turns = Array.from({ length: 8 }, (_, index) => [call(`c${index}`), result(`c${index}`, sheep(400))]).flat()
  const { manager } = managed(["One.", "Two.", "Three."], turns)
  const refused = new LonghaulError("context_overflow", "It is too long.")
  expect(await manager.onOverflow(refused)).toBeDefined()
  const again = await manager.onOverflow(refused).catch((error: Error) => error)
  expect(again).not.toBeInstanceOf(Error)
  await expect(manager.onOverflow(refused)).rejects.toMatchObject({
    code: "compaction_stuck",
    message: expect.stringContaining("shortened twice"),
  })
})
