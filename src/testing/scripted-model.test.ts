import { expect, test } from "vitest"
import { LonghaulError } from "../contract/error.ts"
import type { Message } from "../contract/message.ts"
import type { AnswerSink, ConversationSetup } from "../contract/provider.ts"
import { type ScriptedModel, scriptedModel } from "./index.ts"

const hello: Message = { role: "user", content: [{ type: "text", text: "hello" }] }

test("scriptedModel returns its steps in order and streams them", async () => {
  const model = scriptedModel([
    {
      parts: [
        { reasoning: "think", signature: "sig" },
        { text: "one two" },
        { toolCall: { name: "List", args: { a: 1 } } },
      ],
      deltaSize: 4,
      usage: { inputTokens: 3, costUsd: 0.5 },
    },
    "done",
  ])
  const heard: unknown[] = []
  const answer = await ask(model, [hello], {
    partStart: (kind, index) => heard.push(["start", kind, index]),
    delta: (kind, index, delta) => heard.push([kind, index, delta]),
    call: ({ name }, index) => heard.push(["call", index, name]),
  })
  const call = { type: "tool-call", wireId: "scripted_0", name: "List", args: { a: 1 } }
  expect(answer.parts).toEqual([
    { type: "reasoning", text: "think", opaque: "sig" },
    { type: "text", text: "one two" },
    call,
  ])
  expect(answer).toMatchObject({ stopReason: "tool-calls", usage: { inputTokens: 3, costUsd: 0.5 } })
  expect(heard).toEqual([
    ["start", "reasoning", 0],
    ["reasoning", 0, "thin"],
    ["reasoning", 0, "k"],
    ["start", "text", 1],
    ["text", 1, "one "],
    ["text", 1, "two"],
    ["call", 2, "List"],
  ])
  expect(await ask(model, [hello])).toMatchObject({ parts: [{ type: "text", text: "done" }], stopReason: "end" })
  model.done()
})

test("scriptedModel computes a step from the messages, and keeps each list as it was when called", async () => {
  const model = scriptedModel([(messages) => `${messages.length} message`, (messages) => `${messages.length} messages`])
  const messages = [hello]
  expect((await ask(model, messages)).parts).toEqual([{ type: "text", text: "1 message" }])
  messages.push(hello)
  expect((await ask(model, messages)).parts).toEqual([{ type: "text", text: "2 messages" }])
  expect(model.calls.map(({ length }) => length)).toEqual([1, 2])
})

test("scriptedModel fails an unexpected call and reports the request", async () => {
  const model = scriptedModel(["only"])
  await ask(model, [hello])
  const extra = ask(model, [hello])
  await expect(extra).rejects.toMatchObject({ code: "internal", retryable: false })
  await expect(extra).rejects.toThrow(/unexpected call 2.*hello/)
})

test("scriptedModel reports unused steps", async () => {
  const model = scriptedModel(["one", "two"])
  await ask(model, [hello])
  expect(() => model.done()).toThrow("1 of 2 steps")
})

test("scriptedModel fails if a step says so", async () => {
  const fail = new LonghaulError("overloaded", "busy")
  const model = scriptedModel([{ fail }, () => ({ fail })])
  await expect(ask(model, [hello])).rejects.toBe(fail)
  await expect(ask(model, [hello])).rejects.toBe(fail)
})

test("scriptedModel flags a call with invalid JSON arguments", async () => {
  const model = scriptedModel([{ parts: [{ toolCall: { name: "List", rawArgs: "{oops" } }] }])
  expect((await ask(model, [hello])).parts).toMatchObject([
    { args: null, invalid: expect.stringContaining("not JSON") },
  ])
})

test("scriptedModel stops at the delta at which it is aborted", async () => {
  const abort = new AbortController()
  const deltas: string[] = []
  const sink: AnswerSink = {
    delta: (_kind, _index, delta) => {
      deltas.push(delta)
      abort.abort()
    },
  }
  const model = scriptedModel([{ parts: [{ text: "abcdef" }], deltaSize: 2 }])
  await expect(ask(model, [hello], sink, abort.signal)).rejects.toMatchObject({ code: "cancelled" })
  expect(deltas).toEqual(["ab"])
})

function ask(
  model: ScriptedModel,
  messages: readonly Message[],
  sink: AnswerSink = {},
  signal: AbortSignal = new AbortController().signal,
) {
  const setup: ConversationSetup = { tools: [], transport: { stream: () => Promise.reject(new Error("no network")) } }
  return model.converse(setup).call(messages, sink, signal)
}
