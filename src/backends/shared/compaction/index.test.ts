import { expect, test } from "vitest"
import { LonghaulError } from "../../../contract/error.ts"
import type { Message } from "../../../contract/message.ts"
import { type ScriptedStep, scriptedModel } from "../../../testing/index.ts"
import { createCompactionManager, estimateFirstTurnInput } from "./index.ts"

const task: Message = { role: "user", content: [{ type: "text", text: "Count the sheep." }] }

function turn(callId: string, text: string): readonly Message[] {
  return [
    { role: "assistant", content: [{ type: "tool-call", callId, name: "page", args: {} }] },
    { role: "tool", content: [{ type: "tool-result", callId, status: "ok", output: [{ type: "text", text }] }] },
  ]
}

function conversation(steps: readonly ScriptedStep[], { turns = 6, window = 12_000, length = 400 } = {}) {
  const model = scriptedModel(steps)
  const warnings: string[] = []
  const manager = createCompactionManager({
    ...{ model, window, keep: 2000, answerTokens: 100, retry: { attempts: 1 } },
    onWarning: ({ code }) => warnings.push(code),
  })
  manager.add(task)
  for (let count = 1; count <= turns; count++) manager.add(...turn(`c${count}`, "All about sheep. ".repeat(length)))
  return { manager, model, warnings }
}

function textOf(messages: readonly Message[]): string {
  return JSON.stringify(messages)
}

/** The calls and the results of a conversation, in order. */
function pairsIn(messages: readonly Message[]) {
  const ids = (wanted: string) =>
    messages.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === wanted && "callId" in part ? [part.callId] : [])),
    )
  return { calls: ids("tool-call"), results: ids("tool-result") }
}

test("a conversation that fits is left as it is", async () => {
  const { manager } = conversation([], { turns: 1 })
  expect(await manager.beforeRequest()).toBeUndefined()
  expect(manager.messages).toEqual([task, ...turn("c1", "All about sheep. ".repeat(400))])
})

test("old turns become a summary, and every call that is left keeps its result", async () => {
  const { manager } = conversation(["Goal: sheep.", "Goal: more sheep."], { turns: 7 })
  const before = estimateFirstTurnInput({ messages: manager.messages })
  const compaction = await manager.beforeRequest()
  expect(compaction).toMatchObject({ cause: "threshold", turn: 8 })
  expect(compaction?.head?.through).toBeGreaterThan(3)
  expect(estimateFirstTurnInput({ messages: manager.messages })).toBeLessThan(before / 2)
  const { calls, results } = pairsIn(manager.messages)
  expect(results).toEqual(calls)
  expect(await manager.beforeRequest()).toBeUndefined()
})

test("a summary on request replaces all but the last turn, and keeps the task word for word", async () => {
  const { manager } = conversation(["Goal: sheep. Done: six pages."], { turns: 3 })
  const compaction = await manager.compact()
  expect(compaction).toMatchObject({ cause: "asked", head: { through: 2 } })
  expect(textOf(manager.messages)).toContain("Goal: sheep. Done: six pages.")
  expect(textOf(manager.messages)).toContain("Count the sheep.")
  expect(pairsIn(manager.messages)).toEqual({ calls: ["c3"], results: ["c3"] })
})

test("a summary that fails becomes an extract, with a warning", async () => {
  const { manager, warnings } = conversation([{ fail: new LonghaulError("auth", "no key") }], { turns: 3 })
  await manager.compact()
  expect(warnings).toEqual(["compaction_degraded"])
  expect(textOf(manager.messages)).toContain("Count the sheep.")
})

test("a refused request shortens the conversation to the window that the refusal names", async () => {
  const { manager } = conversation([], { turns: 4, window: 60_000 })
  expect(await manager.beforeRequest()).toBeUndefined()
  const refusal = new LonghaulError("context_overflow", "prompt is too long: 9000 tokens > 5000 maximum")
  expect(await manager.onOverflow(refusal)).toMatchObject({ cause: "overflow", window: 5000 })
  expect(estimateFirstTurnInput({ messages: manager.messages })).toBeLessThan(5000)
})

test("a conversation that cannot be made smaller rejects with compaction_stuck and the fix", async () => {
  const manager = createCompactionManager({ model: scriptedModel([]), window: 1000, system: "Be exact. ".repeat(900) })
  manager.add(task)
  await expect(manager.beforeRequest()).rejects.toMatchObject({
    code: "compaction_stuck",
    fix: expect.stringMatching(/system prompt/),
  })
})

test("an aborted signal rejects with cancelled", async () => {
  const model = scriptedModel(["never used"])
  const manager = createCompactionManager({ model, window: 12_000, signal: AbortSignal.abort() })
  manager.add(task, ...turn("c1", "x"), ...turn("c2", "y"))
  await expect(manager.compact()).rejects.toMatchObject({ code: "cancelled" })
})

test.each([
  { options: { windw: 3 }, problem: "windw" },
  { options: { at: 2 }, problem: "share" },
  { options: { keep: -1 }, problem: "keep" },
])("$options is rejected", ({ options, problem }) => {
  const given = { model: scriptedModel([]), ...options }
  expect(() => createCompactionManager(given)).toThrow(new RegExp(problem))
})

test("a summary on request never counts as a sign that the conversation fills again at once", async () => {
  const { manager } = conversation(Array(5).fill("Goal: sheep."), { turns: 1, length: 10 })
  for (let count = 2; count <= 6; count++) {
    manager.add(...turn(`d${count}`, "More sheep."))
    expect(await manager.compact()).toMatchObject({ cause: "asked", head: {} })
  }
  // Now it is too long: that summary is the first of its kind.
  for (let count = 1; count <= 7; count++) manager.add(...turn(`e${count}`, "All about sheep. ".repeat(400)))
  expect(await manager.beforeRequest()).toMatchObject({ cause: "threshold" })
})

test("a request that is far longer than its text looks is summarised, although no old result can go", async () => {
  const { manager, model } = conversation(["Goal: sheep."], { turns: 6, length: 40 })
  const usage = { inputTokens: 10_000, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
  manager.settle(usage)
  expect(await manager.beforeRequest()).toMatchObject({ cause: "threshold", head: {} })
  expect(model.calls).toHaveLength(1)
})

test("a task that leaves no room for a conversation is named as what to shorten", async () => {
  const manager = createCompactionManager({ model: scriptedModel([]), window: 1000, answerTokens: 10 })
  manager.add({ role: "user", content: [{ type: "text", text: "Count the sheep. ".repeat(900) }] })
  await expect(manager.beforeRequest()).rejects.toMatchObject({
    code: "compaction_stuck",
    fix: expect.stringMatching(/Shorten the task/),
    data: { lastTurn: 0 },
  })
})

test("a summary that was cut at the output limit stands behind the earlier one, and does not replace it", async () => {
  const cut = { parts: [{ text: "Goal: she" }], stopReason: "output-limit" } as const
  const { manager } = conversation([`Goal: sheep. ${"All about sheep. ".repeat(450)}`, cut], { turns: 3 })
  await manager.compact()
  manager.add(...turn("c4", "All about sheep."))
  manager.add(...turn("c5", "All about sheep."))
  await manager.compact()
  expect(textOf(manager.messages)).toMatch(/Goal: sheep\..*Goal: she"/)
})

test("an earlier summary that is short stays word for word, and the next one adds to it", async () => {
  const { manager, model } = conversation(["Goal: sheep.", "Done: c4."], { turns: 3 })
  await manager.compact()
  manager.add(...turn("c4", "All about sheep."), ...turn("c5", "All about sheep."))
  await manager.compact()
  expect(textOf(model.calls[1] ?? [])).toContain("<earlier-summaries>\\nGoal: sheep.")
  expect(textOf(manager.messages)).toMatch(/Goal: sheep\..*Done: c4\./)
})
