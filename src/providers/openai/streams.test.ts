import { describe, expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { Answer } from "../../contract/provider.ts"
import { createSimulator, type FaultOrder, renderAnswer } from "../../testing/index.ts"
import { AnswerParts } from "../answer-parts.ts"
import type { AnswerReader } from "../converse.ts"
import { SseCutter } from "../sse.ts"
import { ChatReader } from "./chat-answer.ts"
import { ResponsesReader } from "./responses-answer.ts"

const encoder = new TextEncoder()

type CreateReader = (parts: AnswerParts) => AnswerReader
const chatReader: CreateReader = (parts) => new ChatReader(parts)
const responsesReader: CreateReader = (parts) => new ResponsesReader(parts)

/** Like a conversation, from one chunk with everything. */
function read(create: CreateReader, sent: string | Uint8Array): Answer {
  const parts = new AnswerParts({})
  const reader = create(parts)
  new SseCutter(reader).push(typeof sent === "string" ? encoder.encode(sent) : sent)
  parts.deliver()
  return reader.finish()
}

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (LonghaulError.is(error)) return error.code
    throw error
  }
  return "none"
}

const sse = (events: readonly (JsonObject | string)[]): string =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("")

const chunk = (delta: JsonObject, finish: string | null = null, rest: JsonObject = {}): JsonObject => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  model: "m-1",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...rest,
})
const chat = (...events: readonly (JsonObject | string)[]): Answer => read(chatReader, sse(events))
const call = (rest: JsonObject): JsonObject => chunk({ tool_calls: [rest] })
const named = (name: string, args: Json): JsonObject => ({ function: { name, arguments: args } })

const response = (rest: JsonObject): JsonObject => ({ type: "response.completed", response: { model: "m-1", ...rest } })
const added = (index: number, item: JsonObject): JsonObject => ({
  type: "response.output_item.added",
  output_index: index,
  item,
})
const done = (index: number, item: JsonObject): JsonObject => ({
  type: "response.output_item.done",
  output_index: index,
  item,
})
const responses = (...events: readonly (JsonObject | string)[]): Answer => read(responsesReader, sse(events))

const unknown = { inputTokens: null, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null, costUsd: null }

test("usage is unknown if the server reports none, like llama.cpp by default", () => {
  const timings = { timings: { prompt_n: 12, predicted_n: 2 } }
  const answer = chat(
    chunk({ role: "assistant", content: null }),
    chunk({ content: "Hi" }),
    chunk({}, "stop", timings),
    "[DONE]",
  )
  expect(answer).toEqual({ parts: [{ type: "text", text: "Hi" }], stopReason: "end", usage: unknown, model: "m-1" })
  expect(responses(response({})).usage).toEqual(unknown)
})

describe("lenient Chat Completions servers", () => {
  const partsOf = (...events: readonly JsonObject[]) => {
    const { parts, stopReason } = chat(...events, chunk({}, "stop"), "[DONE]")
    expect(stopReason).toBe("tool-calls")
    return parts
  }
  const reading = (wireId: string, path: string) => ({ type: "tool-call", wireId, name: "Read", args: { path } })

  test("complete calls in one delta each, all with the same index, are separate calls", () => {
    const whole = (id: string, path: string) => call({ index: 0, id, ...named("Read", JSON.stringify({ path })) })
    expect(partsOf(whole("a", "1"), whole("b", "2"))).toEqual([reading("a", "1"), reading("b", "2")])
  })

  test("complete calls in one delta are separate calls", () => {
    const calls = ["1", "2"].map((path, index) => ({ index, id: path, ...named("Read", JSON.stringify({ path })) }))
    expect(partsOf(chunk({ tool_calls: calls }))).toEqual([reading("1", "1"), reading("2", "2")])
  })

  test("calls without ids get generated ids", () => {
    const parts = partsOf(
      chunk({ content: "I look." }),
      call({ index: 0, ...named("Read", '{"path":') }),
      call({ index: 0, function: { arguments: '"1"}' } }),
      call({ index: 1, id: "", ...named("Read", '{"path":"2"}') }),
    )
    expect(parts.slice(1)).toEqual([reading("call_1", "1"), reading("call_2", "2")])
  })

  test("calls without ids and indexes start at each name", () => {
    const parts = partsOf(
      call(named("Read", '{"path":')),
      call({ function: { arguments: '"1"}' } }),
      call(named("List", {})),
    )
    expect(parts).toEqual([reading("call_0", "1"), { type: "tool-call", wireId: "call_1", name: "List", args: {} }])
  })

  test("repeated ids and names, and blanks between, belong to one call", () => {
    const again = (args: string) => call({ index: 0, id: "a", ...named("Read", args) })
    const parts = partsOf(again('{"pa'), chunk({ content: "" }), again('th":"1"}'), chunk({ content: null }))
    expect(parts).toEqual([reading("a", "1")])
  })

  test("text before and after a call is two texts", () => {
    const parts = partsOf(
      chunk({ content: "I " }),
      call({ index: 0, id: "a", ...named("List", "{}") }),
      chunk({ content: "look." }),
    )
    expect(parts.map((part) => (part.type === "text" ? part.text : part.type))).toEqual(["I ", "tool-call", "look."])
  })

  test("a call without a name is malformed", () => {
    expect(codeOf(() => chat(call({ index: 0, id: "a", function: { arguments: "{}" } })))).toBe("stream_malformed")
  })

  test("reasoning under either name, or both, is read before text", () => {
    const answer = chat(
      chunk({ reasoning_content: "Let ", reasoning: "Let " }),
      chunk({ reasoning_content: "me", content: "" }, ""),
      chunk({ content: "Hi" }),
      chunk({ reasoning: "again" }),
      chunk({}, "stop"),
      "[DONE]",
    )
    expect(answer.parts).toEqual([
      { type: "reasoning", text: "Let me", opaque: { field: "reasoning_content" } },
      { type: "text", text: "Hi" },
      { type: "reasoning", text: "again" },
    ])
  })

  test("comments, carriage returns, early usage and a repeated reason are tolerated", () => {
    const usage = { usage: { prompt_tokens: 1, completion_tokens: 2 } }
    const end = sse([chunk({ content: "!" }, "stop", usage), chunk({}, "stop"), "[DONE]"])
    const text = `: OPENROUTER PROCESSING\n\n${sse([chunk({ content: "Hi" })])}: ping\n\n${end}`
    const answer = read(chatReader, text.replaceAll("\n", "\r\n"))
    expect(answer).toMatchObject({ parts: [{ text: "Hi!" }], usage: { inputTokens: 1, outputTokens: 2 } })
  })

  test.each([
    ["refusal", chunk({ refusal: "I will not." }), "stop"],
    ["refusal", chunk({ content: "Hi" }), "content_filter"],
    ["tool-calls", call({ index: 0, id: "a", ...named("Read", "{}") }), "function_call"],
    ["output-limit", call({ index: 0, id: "a", ...named("Read", '{"pa') }), "length"],
    ["end", chunk({ content: "Hi" }), "tool_calls"],
  ])("the stop reason is %s for %o and %s", (stopReason, delta, finish) => {
    expect(chat(delta, chunk({}, finish), "[DONE]").stopReason).toBe(stopReason)
  })

  test.each([
    ["provider_error", { error: { code: 502, message: "Provider disconnected" } }],
    ["rate_limited", { error: { code: 429, message: "Slow down" } }],
    ["rate_limited", { error: { code: 429, message: "Too many tokens, please wait." } }],
    ["context_overflow", { error: { code: "1261", message: "Prompt exceeds max length" } }],
    ["provider_error", { error: "CUDA error" }],
    ["invalid_request", { error: { type: "invalid_request_error", message: "no" } }],
    ["context_overflow", { error: { message: "maximum context length is 10 tokens" } }],
    ["provider_error", chunk({}, "error")],
    ["overloaded", chunk({}, "insufficient_system_resource")],
  ])("the failure is %s for %o in mid-stream", (code, event) => {
    expect(codeOf(() => chat(chunk({ content: "Hi" }), event, "[DONE]"))).toBe(code)
  })

  test("an end without a reason is incomplete; a reason without [DONE] is complete", () => {
    expect(codeOf(() => chat(chunk({ content: "Hi" }), "[DONE]"))).toBe("stream_incomplete")
    expect(chat(chunk({ content: "Hi" }), chunk({}, "stop"))).toMatchObject({ parts: [{ text: "Hi" }] })
  })

  test("interleaved pieces of several calls belong to the call with their index", () => {
    const piece = (index: number, args: string, more: object = {}) =>
      chunk({ tool_calls: [{ index, function: { arguments: args, ...more } }] })
    const open = (index: number, args: string) =>
      chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: `t${index}`, arguments: args } }] })
    const { parts } = chat(
      open(0, ""),
      open(1, '{"b":'),
      piece(0, '{"a"'),
      piece(1, "2}"),
      open(2, "{}"),
      piece(0, ":1}"),
      chunk({}, "tool_calls"),
      "[DONE]",
    )
    expect(parts).toEqual([
      { type: "tool-call", wireId: "c0", name: "t0", args: { a: 1 } },
      { type: "tool-call", wireId: "c1", name: "t1", args: { b: 2 } },
      { type: "tool-call", wireId: "c2", name: "t2", args: {} },
    ])
  })
})

describe("the Responses API stream", () => {
  const plainStart =
    '{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"'
  const message = { id: "msg_1", type: "message", role: "assistant", content: [] }

  test("deltas are read under every known spelling", () => {
    const words = ["I will", ' "öook"\\', "\n☕\t", "é"]
    const plain = words.map(
      (word, index) => `${plainStart}${JSON.stringify(word).slice(1)},"logprobs":[],"obfuscation":"aB${index}"}`,
    )
    const escaped = plain.map((text) => text.replaceAll("ö", "\\u00f6").replaceAll("é", "\\u00e9"))
    const sorted = words.map((delta) => ({
      type: "response.output_text.delta",
      content_index: 0,
      delta,
      output_index: 0,
    }))
    for (const deltas of [plain, escaped, sorted]) {
      // Data after the end, such as the other protocol's end mark, is ignored.
      const { parts } = responses(added(0, message), ...deltas, done(0, message), response({}), "[DONE]")
      expect(parts).toEqual([{ type: "text", text: words.join("") }])
    }
  })

  test("complete items are used if no deltas came, and unknown kinds are skipped", () => {
    const args = '{"path":"a"}'
    const answer = responses(
      added(0, { type: "web_search_call", id: "ws_1" }),
      { type: "response.web_search_call.searching", output_index: 0 },
      done(0, { type: "web_search_call", id: "ws_1" }),
      added(1, { type: "reasoning", id: "rs_1", summary: [] }),
      done(1, { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }] }),
      added(2, message),
      done(2, { ...message, content: [{ type: "output_text", text: "Hi" }] }),
      added(3, { type: "function_call", id: "fc_1", call_id: "c1", name: "Read", arguments: "" }),
      done(3, { type: "function_call", id: "fc_1", call_id: "c1", name: "Read", arguments: args }),
      response({}),
    )
    expect(answer.stopReason).toBe("tool-calls")
    expect(answer.parts).toEqual([
      { type: "reasoning", text: "hm" },
      { type: "text", text: "Hi" },
      { type: "tool-call", wireId: "c1", name: "Read", args: { path: "a" } },
    ])
  })

  test("a summary in several parts is streamed as paragraphs and stored unchanged", () => {
    const summary = ["One", "Two"].map((text) => ({ type: "summary_text", text }))
    const item = { type: "reasoning", id: "rs_1", encrypted_content: "sealed", summary }
    const grown = summary.flatMap(({ text }, index) => [
      { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: index },
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: index, delta: text },
    ])
    const { parts } = responses(added(0, { ...item, summary: [] }), ...grown, done(0, item), response({}))
    const opaque = { id: "rs_1", encrypted_content: "sealed", summary }
    expect(parts).toEqual([{ type: "reasoning", text: "One\n\nTwo", opaque }])
  })

  test.each([
    ["refusal", "content_filter"],
    ["output-limit", "max_output_tokens"],
  ])("the stop reason is %s if the answer is incomplete for %s, also inside an item", (stopReason, reason) => {
    const delta = { type: "response.output_text.delta", output_index: 0, delta: "Half" }
    const end = { type: "response.incomplete", response: { incomplete_details: { reason } } }
    expect(responses(added(0, message), delta, end)).toMatchObject({ parts: [{ text: "Half" }], stopReason })
  })

  test("a refusal is detected with or without deltas", () => {
    const refusal = { ...message, content: [{ type: "refusal", refusal: "No." }] }
    const delta = { type: "response.refusal.delta", output_index: 0, delta: "No." }
    for (const deltas of [[delta], []]) {
      const answer = responses(added(0, message), ...deltas, done(0, refusal), response({}))
      expect(answer).toMatchObject({ parts: [{ type: "text", text: "No." }], stopReason: "refusal" })
    }
  })

  test.each([
    ["rate_limited", { type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "x" } } }],
    ["provider_error", { type: "response.failed", response: { error: { code: "server_error", message: "x" } } }],
    ["provider_error", { type: "response.failed", response: { error: null } }],
    ["billing", { type: "error", error: { type: "insufficient_quota", code: "insufficient_quota", message: "x" } }],
    ["overloaded", { type: "error", code: "server_is_overloaded", message: "x", param: null }],
    ["stream_malformed", { type: "response.output_text.delta", output_index: 5, delta: "x" }],
    ["stream_malformed", "{not json"],
    ["stream_malformed", `${plainStart}}`],
  ] as [string, JsonObject | string][])("the failure is %s for %o in mid-stream", (code, event) => {
    expect(codeOf(() => responses(added(0, message), event, response({})))).toBe(code)
  })
})

describe.each([
  ["/v1/chat/completions", { messages: [{ role: "user", content: "hi" }] }, chatReader],
  ["/v1/responses", { input: "hi" }, responsesReader],
])("a stream of %s", (path, said, reader) => {
  const answer = { parts: [{ text: "Hi ☕" }, { toolCall: { id: "a", name: "Read", args: { path: "a" } } }] }
  const parts = [
    { type: "text", text: "Hi ☕" },
    { type: "tool-call", wireId: "a", name: "Read", args: { path: "a" } },
  ]

  async function sentBy(fault: FaultOrder | null): Promise<string> {
    const simulator = createSimulator({ script: () => answer, faults: [fault] })
    const body = JSON.stringify({ model: "m", stream: true, ...said })
    const sent = await (await simulator.fetch(`http://model${path}`, { method: "POST", body })).text()
    expect(renderAnswer(answer, simulator.requests[0]) === sent).toBe(fault === null)
    return sent
  }

  test("a stream with everything but its deltas repeated is one answer", async () => {
    expect(read(reader, await sentBy({ kind: "duplicate" })).parts).toEqual(parts)
    const twice = (await sentBy(null)).replace(/^event: response\.output_item\..*\n.*\n\n/gm, "$&$&")
    expect(read(reader, twice).parts).toEqual(parts)
  })

  test("a stream cut at any byte is never a complete answer", async () => {
    const sent = await sentBy(null)
    // A chat answer is complete with its finish reason: its usage and end mark may be missing.
    const reason = sent.indexOf("\n", sent.indexOf('"finish_reason":"'))
    const bytes = encoder.encode(path.includes("chat") ? sent.slice(0, reason) : sent)
    for (let end = 0; end < bytes.length; end++) {
      expect(codeOf(() => read(reader, bytes.subarray(0, end)))).toBe("stream_incomplete")
    }
    expect(read(reader, sent)).toMatchObject({ parts, stopReason: "tool-calls" })
  })
})
