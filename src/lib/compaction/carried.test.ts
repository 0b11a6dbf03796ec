import { expect, test } from "vitest"
import type { Message } from "../../contract/message.ts"
import { carriedSentences } from "./carried.ts"

const agent = (text: string): Message => ({ role: "assistant", content: [{ type: "text", text }] })
const person = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })
const result = (text: string): Message => ({
  role: "tool",
  content: [{ type: "tool-result", callId: "c", status: "ok", output: [{ type: "text", text }] }],
})

test("the sentences around ids, paths and figures that are not known are carried, and no others", () => {
  const messages = [
    agent("It is fine. The key is db-4711. Go on."),
    result("See src/lib/store.ts for it.\nNothing else."),
    agent("Use u-77x9."),
  ]
  expect(carriedSentences("", messages, "Known: u-77x9.", 1_000)).toBe(
    "- The key is db-4711\n- See src/lib/store.ts for it",
  )
})

test("an earlier summary comes first, its last line before the others, then the agent's newest text", () => {
  const earlier = "Old: ab-0001.\nNewer: ab-0002."
  const carried = carriedSentences(earlier, [agent("Then ab-0003."), agent("Last ab-0004.")], "", 1_000)
  expect(carried.match(/ab-\d+/g)).toEqual(["ab-0002", "ab-0001", "ab-0004", "ab-0003"])
})

test("there are as many as the room has tokens for, and a text full of ids gives none", () => {
  const rows = Array.from({ length: 40 }, (_, index) => `row-${1000 + index}`).join("\n")
  expect(carriedSentences("", [result(rows)], "", 1_000)).toBe("")
  expect(carriedSentences("", [agent("One ab-0001. Two ab-0002."), agent("Three ab-0003.")], "", 12)).toBe(
    "- Three ab-0003",
  )
})

test("no sentence begins or ends inside a character", () => {
  const sheep = "\u{1f411}".repeat(90)
  for (const odd of ["", "y"]) {
    const carried = carriedSentences("", [agent(`${odd}${sheep} ab-0001 ${odd}${sheep}`)], "", 1_000)
    expect(carried).toContain("ab-0001")
    expect(carried).not.toMatch(/\p{Cs}/u)
  }
})

test("what people write is not carried: it stays word for word anyway", () => {
  expect(carriedSentences("", [person("Use ab-0001.")], "", 1_000)).toBe("")
})

test("arguments of calls are read like texts of the agent", () => {
  const call: Message = {
    role: "assistant",
    content: [
      { type: "tool-call", callId: "c", name: "put", args: { to: { path: ["The bucket is eu-west-77."] }, n: 3 } },
    ],
  }
  expect(carriedSentences("", [call], "", 1_000)).toBe("- The bucket is eu-west-77")
})
