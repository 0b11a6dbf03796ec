import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { stopOf } from "./failures.ts"
import { type ClaudeEnd, type ClaudeEvent, translate } from "./translate.ts"

const same = (id: string) => id

function recorded(name: string): readonly ClaudeEvent[] {
  const text = readFileSync(new URL(`__fixtures__/${name}.jsonl`, import.meta.url), "utf8")
  return text
    .trim()
    .split("\n")
    .flatMap((line) => translate(JSON.parse(line), same))
}

const without =
  (...types: string[]) =>
  (events: readonly ClaudeEvent[]) =>
    events.filter(({ type }) => !types.includes(type))

const quiet = without("delta", "part-start", "model", "used", "end")

describe("messages of claude 2.1.325", () => {
  test("two answers with calls become answers, parts and results in the order in which the program wrote them", () => {
    const ids = { id: "11111111-1111-4111-8111-111111111111" }
    const first = { type: "answer", id: "msg_sim_000000", model: "claude-sonnet-4-5" }
    const second = { ...first, id: "msg_sim_000001" }
    const call = (index: number, name: string, args: object) => ({
      type: "call",
      callId: `toolu_sim_${index}`,
      name,
      args,
    })
    const result = (index: number, status: string, text: string) => ({
      type: "result",
      callId: `toolu_sim_${index}`,
      outcome: { status, output: [{ type: "text", text }] },
    })
    const events = quiet(recorded("calls-2.1.325"))
    // Results of early calls may come before the answer has ended: that depends on the machine.
    const results = events.filter(({ type }) => type === "result")
    expect(events.filter(({ type }) => type !== "result")).toEqual([
      { type: "delivered", ...ids },
      { type: "request" },
      first,
      first,
      { type: "text", text: "I will." },
      first,
      call(0, "Bash", { command: "echo one" }),
      first,
      call(1, "Bash", { command: "exit 3" }),
      first,
      call(2, "mcp__longhaul__send", { to: "Ada" }),
      { type: "answer-end" },
      { type: "request" },
      second,
      second,
      { type: "reasoning", text: "Both ran." },
      second,
      { type: "text", text: expect.stringContaining("Results: one | Exit code 3 | sent") },
      { type: "answer-end" },
    ])
    expect(results).toEqual([result(0, "ok", "one"), result(1, "error", "Exit code 3"), result(2, "ok", "sent")])
  })

  test("deltas have the text of their part", () => {
    const deltas = recorded("calls-2.1.325").flatMap((event) =>
      event.type === "delta" && event.kind === "text" ? [event.delta] : [],
    )
    expect(deltas.join("")).toContain("I will.Results: one")
  })

  test("the end of a session whose call was put off names that call", () => {
    expect(endOf("deferred-2.1.325")).toMatchObject({
      isError: false,
      deferred: "toolu_sim_0",
      stopReason: "tool_deferred",
    })
  })

  test("structured output is data", () => {
    expect(endOf("structured-2.1.325")).toMatchObject({ structured: { n: 3 }, isError: false })
  })

  test("usage is the sum over all models, with the program's cost", () => {
    const { usage } = endOf("calls-2.1.325")
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.costUsd).toBeGreaterThan(0)
  })

  test("only the calls and their results are taken of a subagent", () => {
    const events = quiet(recorded("subagent-2.1.325"))
    expect(events).toContainEqual({ type: "call", callId: "toolu_sub", name: "Bash", args: { command: "echo sub" } })
    expect(events).toContainEqual(expect.objectContaining({ type: "result", callId: "toolu_sub" }))
    expect(events.filter(({ type }) => type === "text")).toEqual([{ type: "text", text: "Done." }])
  })

  test("a message about a failure is not the model's text", () => {
    const events = recorded("rate-limit-2.1.325")
    expect(events.filter(({ type }) => type === "text")).toEqual([])
    expect(events).toContainEqual(expect.objectContaining({ type: "api-error", error: "rate_limit" }))
  })

  test.each([null, 3, "text", [], {}, { type: "assistant" }, { type: "user", message: { content: [null] } }])(
    "the message %j of unknown form means nothing and does no harm",
    (message) => {
      expect(translate(message, same).filter(({ type }) => type !== "answer")).toEqual([])
    },
  )
})

describe("failures", () => {
  const end: ClaudeEnd = {
    isError: true,
    text: "It failed.",
    stopReason: "",
    terminalReason: "api_error",
    apiError: "",
    delivered: [],
    queued: 0,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 },
  }

  test.each([
    [{ status: 429 }, undefined, "rate_limited", true],
    [{ status: 500 }, undefined, "provider_error", true],
    [{ status: 503 }, undefined, "provider_error", true],
    [{ status: 529 }, undefined, "overloaded", true],
    [{ status: 401 }, undefined, "auth", false],
    [{ status: 402 }, undefined, "billing", false],
    [{ status: 404 }, undefined, "model_not_found", false],
    [{ apiError: "connection_failed" }, "server_error", "network", true],
    [{ apiError: "stream_idle_timeout" }, "server_error", "stream_stalled", true],
    [{}, "authentication_failed", "auth", false],
    [{}, "something new", "provider_error", true],
    [{ terminalReason: "prompt_too_long" }, undefined, "context_overflow", false],
    [{ terminalReason: "" }, undefined, "backend_crashed", true],
  ])("%j with %s is %s", (flags, error, code, retryable) => {
    const stop = stopOf({ ...end, ...flags }, error === undefined ? undefined : { error })
    expect(stop).toMatchObject({ reason: "failed", failure: { code, retryable, message: "It failed." } })
  })

  test("a refusal, an output limit and a limit of turns are stops of their own", () => {
    expect(stopOf({ ...end, stopReason: "refusal" }, { error: "invalid_request" })).toEqual({ reason: "refusal" })
    expect(stopOf({ ...end, apiError: "max_output_tokens" }, undefined)).toEqual({ reason: "output-limit" })
    expect(stopOf({ ...end, terminalReason: "max_turns" }, undefined)).toEqual({ reason: "limit" })
  })

  test("a missing login names the command that fixes it", () => {
    const stop = stopOf(end, { error: "authentication_failed" })
    expect(stop).toMatchObject({ failure: { fix: expect.stringContaining("claude auth login") } })
  })
})

function endOf(name: string): ClaudeEnd {
  const event = recorded(name).find(({ type }) => type === "end")
  if (event?.type !== "end") throw new Error(`${name} has no end`)
  return event.end
}

test("a compaction of the program is reported with its cause and its size", () => {
  const boundary = (trigger: string) => ({
    type: "system",
    subtype: "compact_boundary",
    compact_metadata: { trigger, pre_tokens: 167_000, post_tokens: 14_000 },
  })
  const sizes = { type: "compacted", before: 167_000, after: 14_000 }
  expect(translate(boundary("auto"), same)).toEqual([{ ...sizes, isAsked: false }])
  expect(translate(boundary("manual"), same)).toEqual([{ ...sizes, isAsked: true }])
})

test("a message of a person that the program repeats is no result of a call", () => {
  const content = [{ type: "text", text: "Hurry." }]
  const events = translate({ type: "user", message: { role: "user", content } }, same)
  expect(events.filter(({ type }) => type === "result")).toEqual([])
})

const streamed = (event: object) => ({ type: "stream_event", event })

test.each<[string, object, readonly object[]]>([
  ["the begin of a session", { type: "system", subtype: "init", model: "m-1" }, [{ type: "model", model: "m-1" }]],
  [
    "the begin of a text",
    streamed({ type: "content_block_start", content_block: { type: "text" } }),
    [{ type: "part-start", kind: "text" }],
  ],
  [
    "the begin of a thought",
    streamed({ type: "content_block_start", content_block: { type: "thinking" } }),
    [{ type: "part-start", kind: "reasoning" }],
  ],
  ["the begin of a call", streamed({ type: "content_block_start", content_block: { type: "tool_use" } }), []],
  [
    "a part of a thought",
    streamed({ type: "content_block_delta", delta: { type: "thinking_delta", thinking: "Hm" } }),
    [{ type: "delta", kind: "reasoning", delta: "Hm" }],
  ],
  [
    "the signature of a thought",
    streamed({ type: "content_block_delta", delta: { type: "signature_delta", signature: "s" } }),
    [],
  ],
])("a message of the program with %s is translated", (_, message, events) => {
  expect(translate(JSON.parse(JSON.stringify(message)), same)).toEqual(events)
})

test("texts and thoughts of a subagent are not taken, only its calls", () => {
  const content = [
    { type: "text", text: "I look." },
    { type: "thinking", thinking: "Hm" },
    { type: "tool_use", id: "t1", name: "Bash", input: {} },
  ]
  const message = { type: "assistant", parent_tool_use_id: "agent", message: { id: "m", model: "m", content } }
  expect(translate(message, same)).toEqual([{ type: "call", callId: "t1", name: "Bash", args: {} }])
})

test("images of a result are kept, and what is neither text nor image is left out", () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } }
  const content = [
    { type: "text", text: "Here." },
    image,
    { type: "image", source: { type: "url" } },
    { type: "other" },
  ]
  const message = { type: "user", message: { content: [{ type: "tool_result", tool_use_id: "t1", content }] } }
  expect(translate(message, same)).toMatchObject([
    { outcome: { output: [{ text: "Here." }, { type: "image", mediaType: "image/png", data: "AA" }] } },
  ])
})
