import { expect, test } from "vitest"
import type { TurnMessage } from "../../contract/compaction.ts"
import type { Message } from "../../contract/message.ts"
import { compacted, SUMMARY_START } from "./compacted.ts"

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
const result = (callId: string, text: string): Message => ({
  role: "tool",
  content: [{ type: "tool-result", callId, wireId: "w", status: "ok", output: [{ type: "text", text }] }],
})
const texts = (said: readonly TurnMessage[]) =>
  said.map(({ message }) =>
    message.content
      .map((part) => {
        if (part.type === "tool-result")
          return part.output.map((each) => (each.type === "text" ? each.text : each.type)).join()
        return part.type === "text" ? part.text : part.type
      })
      .join(),
  )

const summary = user(`${SUMMARY_START}\nshort`)
const said: readonly TurnMessage[] = [
  { turn: 0, message: user("old") },
  { turn: 0, message: user("task") },
  { turn: 1, message: result("1.0", "first") },
  { turn: 2, message: result("2.0", "second") },
  { turn: 2, message: user("steer") },
  { turn: 3, message: result("3.0", "third") },
]

test("a head replaces everything through its turn, and what people said stays in turn 0", () => {
  const after = compacted(said, { head: { through: 2, messages: [user("task"), summary] } })
  expect(texts(after)).toEqual(["task", `${SUMMARY_START}\nshort`, "third"])
  expect(after.map(({ turn }) => turn)).toEqual([0, 2, 3])
})

test("a head over the input leaves as many of its last messages as it says", () => {
  const after = compacted(said, { head: { through: 0, kept: 1, messages: [summary] } })
  expect(texts(after).slice(0, 3)).toEqual([`${SUMMARY_START}\nshort`, "task", "first"])
})

test("a result of 0 characters is the note with its call's id, and keeps its pairing", () => {
  const after = compacted(said, { results: { keep: { "1.0": 0 }, note: "Gone: {callId}, {callId}." } })
  expect(texts(after)[2]).toBe("Gone: 1.0, 1.0.")
  expect(after[2]?.message.content).toMatchObject([{ callId: "1.0", wireId: "w", status: "ok" }])
  // Unchanged messages keep their identity, which providers rely on.
  expect(after[3]).toBe(said[3])
})

test("a clipped result has both ends and never half a character", () => {
  const long: TurnMessage[] = [{ turn: 1, message: result("1.0", `${"a".repeat(50)}${"😀".repeat(50)}`) }]
  for (let keep = 1; keep < 60; keep++) {
    const [text = ""] = texts(compacted(long, { results: { keep: { "1.0": keep }, note: "note" } }))
    expect(new TextDecoder().decode(new TextEncoder().encode(text))).toBe(text)
    expect(text).toContain("note")
    expect(text.startsWith("a")).toBe(true)
  }
  const whole = compacted(long, { results: { keep: { "1.0": 1_000 }, note: "note" } })
  expect(texts(whole)).toEqual(texts(long))
})

test("media leave a clipped result", () => {
  const message: Message = {
    role: "tool",
    content: [
      {
        type: "tool-result",
        callId: "1.0",
        status: "ok",
        output: [
          { type: "text", text: "here" },
          { type: "image", mediaType: "image/png", data: "AAAA" },
        ],
      },
    ],
  }
  const after = compacted([{ turn: 1, message }], { results: { keep: { "1.0": 500 }, note: "note" } })
  expect(texts(after)).toEqual(["here\n[image: image/png]"])
})

test("results of the input are never cut: ids are unique among the run's own turns only", () => {
  const input: TurnMessage[] = [{ turn: 0, message: result("1.0", "earlier") }, ...said]
  const after = compacted(input, { results: { keep: { "1.0": 0 }, note: "Gone." } })
  expect(texts(after)).toContain("earlier")
  expect(texts(after)).not.toContain("first")
})
