import { expect, test } from "vitest"
import type { Message } from "../../contract/message.ts"
import { Dialogue } from "./dialogue.ts"

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
const says = (text: string, ...callIds: string[]): Message => ({
  role: "assistant",
  content: [
    { type: "text", text },
    ...callIds.map((callId) => ({ type: "tool-call" as const, callId, name: "Read", args: {} })),
  ],
})
const results = (...callIds: string[]): Message => ({
  role: "tool",
  content: callIds.map((callId) => ({
    type: "tool-result",
    callId,
    status: "ok",
    output: [{ type: "text", text: callId }],
  })),
})
const shape = (messages: readonly Message[]) =>
  messages.map(({ role, content }) => [
    role,
    ...content.map((part) => ("callId" in part ? part.callId : "text" in part ? part.text : part.type)),
  ])

test("a dialogue that needs no change is returned unchanged", () => {
  const messages = [user("a"), says("b", "1"), results("1"), says("c")]
  expect(new Dialogue(messages).messages).toEqual(messages)
  const kept = new Dialogue(messages).messages
  expect(kept.every((message, index) => message === messages[index])).toBe(true)
})

test("adjacent messages of the same role are merged into one", () => {
  expect(shape(new Dialogue([user("a"), user("b"), says("c"), says("d")]).messages)).toEqual([
    ["user", "a", "b"],
    ["assistant", "c", "d"],
  ])
})

test("a dialogue always starts with a user message", () => {
  expect(new Dialogue([says("hello"), user("x")]).messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
  ])
})

test("blank texts and empty messages are omitted", () => {
  expect(shape(new Dialogue([user("a"), says("", "1"), results("1"), says("  \n"), user("b")]).messages)).toEqual([
    ["user", "a"],
    ["assistant", "1"],
    ["tool", "1"],
    ["user", "b"],
  ])
})

test("each call has one result: stray results are dropped, missing ones become errors, in call order", () => {
  const dialogue = new Dialogue([user("a"), results("0"), says("b", "1", "2", "3"), results("3", "9", "1")])
  expect(shape(dialogue.messages)).toEqual([
    ["user", "a"],
    ["assistant", "b", "1", "2", "3"],
    ["tool", "1", "2", "3"],
  ])
  expect(dialogue.messages[2]?.content[1]).toMatchObject({ callId: "2", status: "error" })
})

test("an unsettled call gets an error result before the next message", () => {
  expect(shape(new Dialogue([user("a"), says("b", "1"), user("never mind")]).messages)).toEqual([
    ["user", "a"],
    ["assistant", "b", "1"],
    ["tool", "1"],
    ["user", "never mind"],
  ])
})
