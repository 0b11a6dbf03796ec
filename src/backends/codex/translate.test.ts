import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import type { Json } from "../../contract/json.ts"
import type { Message } from "../../contract/message.ts"
import { failureOf } from "./failures.ts"
import { readItem, readTurnEnd } from "./protocol.ts"
import { historyItems, outcomeOf, toolReply, usageOf, userInput } from "./translate.ts"

const items = readFileSync(new URL("__fixtures__/items-0.166.0.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Json)

test("the results of recorded items have a status and the output", () => {
  const outcomes = items.flatMap((value) => {
    const item = readItem(value)
    if (item?.type !== "commandExecution" && item?.type !== "fileChange" && item?.type !== "mcpToolCall") return []
    const { status, output } = outcomeOf(item)
    return [[status, output.map((part) => (part.type === "text" ? part.text : part.type)).join("|")]]
  })
  expect(outcomes).toEqual([
    ["ok", "/project/sub\n"],
    ["ok", ""],
    ["error", expect.stringMatching(/Read-only file system\n\nExit code 1$/)],
    ["ok", ""],
    ["ok", "add /project/q.txt"],
    ["ok", 'calc says {"a":1}'],
    ["error", "Exit code 3"],
  ])
})

test("a declined item is denied", () => {
  const item = readItem({ type: "commandExecution", id: "c", status: "declined" })
  expect(item?.type === "commandExecution" && outcomeOf(item).status).toBe("denied")
})

test("the buckets of a count are exclusive", () => {
  const count = { inputTokens: 100, cachedInputTokens: 20, cacheWriteInputTokens: 5, outputTokens: 10 }
  expect(usageOf(count)).toEqual({
    ...{ inputTokens: 75, cacheReadTokens: 20, cacheWriteTokens: 5, outputTokens: 10 },
    costUsd: null,
  })
})

test.each([
  ["contextWindowExceeded", "context_overflow"],
  ["usageLimitExceeded", "billing"],
  ["rateLimitExceeded", "rate_limited"],
  ["serverOverloaded", "overloaded"],
  ["internalServerError", "provider_error"],
  ["unauthorized", "auth"],
  ["modelNotFound", "model_not_found"],
  ["sandboxError", "sandbox_unavailable"],
  [{ httpConnectionFailed: { httpStatusCode: 401 } }, "auth"],
  [{ httpConnectionFailed: { httpStatusCode: 529 } }, "overloaded"],
  [{ httpConnectionFailed: { httpStatusCode: null } }, "network"],
  [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, "rate_limited"],
  [{ responseStreamDisconnected: { httpStatusCode: null } }, "stream_incomplete"],
  ["somethingNew", "unexpected_stop"],
])("the flag %j of a failed turn is %s", (codexErrorInfo, code) => {
  const { error } = readTurnEnd({ turn: { id: "t", status: "failed", error: { message: "x", codexErrorInfo } } })
  expect(error && failureOf(error).code).toBe(code)
})

test.each([
  ["stream disconnected before completion: x", "stream_incomplete"],
  ["Incomplete response returned, reason: max_output_tokens", "output_limit"],
  ["stream disconnected before completion: Incomplete response returned, reason: content_filter", "content_filtered"],
  ["Missing environment variable: `K`.", "auth"],
  ['{"error":{"message":"boom"}}', "invalid_request"],
  ["boom", "unexpected_stop"],
])("the flag other with the message %j is %s", (message, code) => {
  expect(failureOf({ message, info: "other", httpStatus: undefined }).code).toBe(code)
})

test("a conversation of another backend becomes items with valid names and paired ids", () => {
  const messages: readonly Message[] = [
    { role: "user", content: [{ type: "text", text: "Go." }] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hidden", origin: "other:model" },
        { type: "text", text: "I add." },
        { type: "tool-call", callId: "3.1", name: "mcp:lab/add", args: { n: 1 } },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", callId: "3.1", status: "ok", output: [{ type: "text", text: "1" }] }],
    },
  ]
  expect(historyItems(messages)).toEqual([
    { type: "message", role: "user", content: [{ type: "input_text", text: "Go." }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "I add." }] },
    { type: "function_call", call_id: "3_2e_1", name: "mcp_lab_add", arguments: '{"n":1}' },
    { type: "function_call_output", call_id: "3_2e_1", output: "1" },
  ])
})

test("images are passed as data addresses, and documents are named", () => {
  const image = { type: "image", mediaType: "image/png", data: "AA" } as const
  const file = { type: "file", mediaType: "application/pdf", data: "AA", name: "a.pdf" } as const
  expect(userInput([image, file])).toEqual([
    { type: "image", url: "data:image/png;base64,AA" },
    { type: "text", text: "[file: a.pdf, application/pdf]", text_elements: [] },
  ])
  expect(historyItems([{ role: "user", content: [image, file] }])).toMatchObject([
    {
      content: [
        { type: "input_image", image_url: "data:image/png;base64,AA" },
        { type: "input_text", text: "[file: a.pdf, application/pdf]" },
      ],
    },
  ])
  expect(toolReply({ status: "error", output: [image] })).toEqual({
    contentItems: [{ type: "inputImage", imageUrl: "data:image/png;base64,AA" }],
    success: false,
  })
})
