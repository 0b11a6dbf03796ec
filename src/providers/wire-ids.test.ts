import { expect, test } from "vitest"
import type { ToolCallPart } from "../contract/message.ts"
import { WireIds } from "./wire-ids.ts"

const call = (callId: string, wireId?: string): ToolCallPart => ({
  type: "tool-call",
  callId,
  name: "Read",
  args: {},
  ...(wireId !== undefined && { wireId }),
})

test("every call has a unique id, and its result has the same id", () => {
  const ids = new WireIds({})
  expect(["1.0", "2.0", "3.0"].map((callId) => ids.ofCall(call(callId, "call_0")))).toEqual([
    "call_0",
    "call_0_2",
    "call_0_3",
  ])
  expect(["1.0", "2.0", "3.0"].map((callId) => ids.ofResult(callId))).toEqual(["call_0", "call_0_2", "call_0_3"])
  expect(ids.ofCall(call("4.0"))).toBe("4.0")
})

test("an id never exceeds the server's length limit, even if made unique", () => {
  const ids = new WireIds({ longest: 6 })
  const given = ["abcdef", "abcdefgh", "abcdefij", ...Array.from({ length: 9 }, () => "abcdef")]
  const made = given.map((wireId, index) => ids.ofCall(call(`1.${index}`, wireId)))
  expect(made.slice(0, 3)).toEqual(["abcdef", "abcd_2", "abcd_3"])
  expect(new Set(made).size).toBe(given.length)
  expect(Math.max(...made.map(({ length }) => length))).toBe(6)
})

test("characters that a server rejects in an id are replaced", () => {
  expect(new WireIds({ refused: /[^a-z]/g }).ofCall(call("1.0", "functions.read:0"))).toBe("functions_read__")
})
