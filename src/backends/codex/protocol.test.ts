import { expect, test } from "vitest"
import { readRawCall } from "./protocol.ts"

test.each([
  ["a call", { type: "function_call", call_id: "c", arguments: "{}" }, { isOutput: false, isEscalated: false }],
  ["a call of a custom tool", { type: "custom_tool_call", call_id: "c" }, { isOutput: false, isEscalated: false }],
  ["the output of a call", { type: "function_call_output", call_id: "c" }, { isOutput: true, isEscalated: false }],
  [
    "a call that wants to run outside the sandbox",
    { type: "function_call", call_id: "c", arguments: '{"sandbox_permissions":"require_escalated"}' },
    { isOutput: false, isEscalated: true },
  ],
] as const)("%s in an answer of the model is read", (_, item, expected) => {
  expect(readRawCall(item)).toEqual({ callId: "c", ...expected })
})

test.each([
  ["a message that has the id of a call", { type: "message", call_id: "c" }],
  ["a call without an id", { type: "function_call" }],
  ["an item without a type", { call_id: "c" }],
  ["nothing", undefined],
] as const)("%s in an answer of the model is no call", (_, item) => {
  expect(readRawCall(item)).toBeUndefined()
})
