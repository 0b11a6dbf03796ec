import { afterAll, describe, expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import type { AnswerSink, Transport } from "../../contract/provider.ts"
import { nodeTransport } from "../../hosts/node/http/http-transport.ts"
import { type Served, serve } from "../../hosts/node/http/serve.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { createSimulator, type FaultOrder, type SimulatedAnswer, type Simulator } from "../../testing/index.ts"
import { type AnthropicOptions, anthropic } from "./index.ts"

const task: Message = { role: "user", content: [{ type: "text", text: "Say it" }] }
const servers: Served[] = []
afterAll(async () => {
  for (const server of servers) await server.close()
})

async function simulate(
  answer: SimulatedAnswer,
  fault?: FaultOrder,
): Promise<{ simulator: Simulator; baseUrl: string }> {
  const simulator = createSimulator({ script: () => answer, faults: [fault ?? null] })
  const server = await serve(simulator.fetch)
  servers.push(server)
  return { simulator, baseUrl: server.url }
}

function ask(
  options: Partial<AnthropicOptions>,
  {
    transport = nodeTransport(),
    sink = {},
    messages = [task],
  }: { transport?: Transport; sink?: AnswerSink; messages?: Message[] } = {},
) {
  const conversation = anthropic({ model: "claude-test", apiKey: "key", ...options }).converse({ tools: [], transport })
  return conversation.call(messages, sink, new AbortController().signal)
}

const failure = (work: Promise<unknown>): Promise<LonghaulError> =>
  work.then(
    () => {
      throw new Error("It should have failed")
    },
    (error) => {
      expect(LonghaulError.is(error), String(error)).toBe(true)
      return error
    },
  )

describe.each([
  { name: "node:http", transport: nodeTransport() },
  { name: "fetch", transport: fetchTransport() },
])("over $name", ({ transport }) => {
  test("an answer collects reasoning with its signature, text and calls, in the model's order", async () => {
    const { baseUrl } = await simulate({
      parts: [
        { reasoning: "Let me think about it", signature: "sig-1" },
        { text: "I will öook that up ☕" },
        { toolCall: { id: "t1", name: "Read", args: { path: "a.md", lines: [1, 2] } } },
        { toolCall: { id: "t2", name: "List", args: {} } },
      ],
      deltaSize: 5,
      usage: { inputTokens: 11, outputTokens: 22, cacheReadTokens: 33, cacheWriteTokens: 44 },
    })
    const heard: string[] = []
    const answer = await ask(
      { baseUrl },
      {
        transport,
        sink: {
          partStart: (kind, index) => heard.push(`start ${kind} ${index}`),
          delta: (kind, _, delta) => heard.push(`${kind}:${delta}`),
          call: ({ name }, index) => heard.push(`call ${name} ${index}`),
        },
      },
    )
    expect(answer).toMatchObject({
      parts: [
        { type: "reasoning", text: "Let me think about it", opaque: "sig-1" },
        { type: "text", text: "I will öook that up ☕" },
        { type: "tool-call", wireId: "t1", name: "Read", args: { path: "a.md", lines: [1, 2] } },
        { type: "tool-call", wireId: "t2", name: "List", args: {} },
      ],
      stopReason: "tool-calls",
      usage: { inputTokens: 11, outputTokens: 22, cacheReadTokens: 33, cacheWriteTokens: 44, costUsd: null },
      model: "claude-test",
      requestId: "req_sim_000000",
    })
    expect(
      heard
        .filter((line) => line.startsWith("text:"))
        .map((line) => line.slice(5))
        .join(""),
    ).toBe("I will öook that up ☕")
    expect(heard).toEqual(expect.arrayContaining(["start reasoning 0", "start text 1", "call Read 2", "call List 3"]))
  })

  test.each([
    ["rate_limited", { kind: "status", status: 429, retryAfter: "7" }, true],
    ["overloaded", { kind: "status", status: 529 }, true],
    ["provider_error", { kind: "status", status: 500 }, true],
    ["provider_error", { kind: "status", status: 502 }, true],
    ["provider_error", { kind: "status", status: 503 }, true],
    ["auth", { kind: "status", status: 401 }, false],
    ["auth", { kind: "status", status: 403 }, false],
    ["billing", { kind: "status", status: 402 }, false],
    ["model_not_found", { kind: "status", status: 404 }, false],
    ["invalid_request", { kind: "status", status: 400 }, false],
    ["context_overflow", { kind: "status", status: 413 }, false],
    ["context_overflow", { kind: "status", status: 400, message: "prompt is too long: 9 tokens > 8 maximum" }, false],
    ["overloaded", { kind: "error-event", type: "overloaded_error", message: "Overloaded" }, true],
    ["stream_malformed", { kind: "malformed" }, false],
    ["stream_malformed", { kind: "duplicate" }, false],
    ["stream_incomplete", { kind: "cut", atByte: 400 }, true],
    ["network", { kind: "reset", atByte: 400 }, true],
  ] as [string, FaultOrder, boolean][])("the failure is %s for %o", async (code, fault, retryable) => {
    const { baseUrl } = await simulate("A text of some length, so that there is something to cut", fault)
    const error = await failure(ask({ baseUrl }, { transport }))
    expect(error.toJSON()).toMatchObject({ code, retryable })
    if (code !== "network") expect(error.requestId).toBe("req_sim_000000")
    if (fault.kind === "status" && fault.retryAfter) expect(error.retryAfterMs).toBe(7000)
  })

  test("an unreachable server is a network failure that names it", async () => {
    const error = await failure(ask({ baseUrl: "http://127.0.0.1:9" }, { transport }))
    expect(error).toMatchObject({ code: "network", retryable: true })
    expect(error.message).toContain("127.0.0.1:9")
  })

  test.each([
    ["before the first byte", 0, { firstByteMs: 40 }],
    ["between two chunks", 300, { idleMs: 40 }],
  ])("a server that stalls %s is stream_stalled", async (_, atByte, deadlines) => {
    const { baseUrl } = await simulate("A text of some length", { kind: "stall", atByte })
    const error = await failure(ask({ baseUrl, deadlines: { firstByteMs: 40, ...deadlines } }, { transport }))
    expect(error).toMatchObject({ code: "stream_stalled", retryable: true })
  })

  test("a redirect never receives the key, on the first request or later", async () => {
    const { simulator, baseUrl: elsewhere } = await simulate("From elsewhere")
    const { simulator: before } = await simulate("From here")
    let moved = true
    const away = () => new Response(null, { status: 307, headers: { location: `${elsewhere}/v1/messages` } })
    const server = await serve((request) => (moved ? away() : before.fetch(request)))
    servers.push(server)
    const attempt = () => ask({ baseUrl: server.url }, { transport })
    const refused = { code: "invalid_request", data: { status: 307 }, fix: expect.stringContaining("baseUrl") }

    expect(await failure(attempt())).toMatchObject(refused)
    moved = false
    expect(await attempt()).toMatchObject({ parts: [{ text: "From here" }] })
    moved = true
    const first = await failure(attempt())
    // Then `fetch` only reports a failure, and the next attempt the reason.
    if (first.retryable) expect(await failure(attempt())).toMatchObject(refused)
    else expect(first).toMatchObject(refused)
    expect(simulator.requests).toEqual([])
  })

  test("an abort ends the call", async () => {
    const { baseUrl } = await simulate("A text", { kind: "stall", atByte: 700 })
    const abort = new AbortController()
    const conversation = anthropic({ model: "m", apiKey: "k", baseUrl }).converse({ tools: [], transport })
    const call = conversation.call([task], { partStart: () => abort.abort() }, abort.signal)
    await failure(call)
  })
})

test("a slow stream that keeps sending is not stalled", async () => {
  const { baseUrl } = await simulate("A text of some length", { kind: "slow", bytesPerSecond: 800 })
  const answer = await ask({ baseUrl, deadlines: { idleMs: 1000 } })
  expect(answer.parts).toEqual([{ type: "text", text: "A text of some length" }])
})

test.each([
  ["end", "end_turn"],
  ["end", "stop_sequence"],
  ["output-limit", "max_tokens"],
  ["refusal", "refusal"],
  ["pause", "pause_turn"],
  ["context-overflow", "model_context_window_exceeded"],
])("the stop reason is %s for %s", async (stopReason, wireStopReason) => {
  const { baseUrl } = await simulate({ parts: [{ text: "x" }], wireStopReason })
  expect(await ask({ baseUrl })).toMatchObject({ stopReason })
})

test("an unknown stop reason is a typed failure", async () => {
  const { baseUrl } = await simulate({ parts: [{ text: "x" }], wireStopReason: "bored" })
  expect(await failure(ask({ baseUrl }))).toMatchObject({
    code: "unexpected_stop",
    message: expect.stringContaining("bored"),
  })
})

test("a call with invalid JSON arguments is flagged and has no arguments", async () => {
  const { baseUrl } = await simulate({ parts: [{ toolCall: { name: "Read", rawArgs: '{"path": "a' } }] })
  const { parts } = await ask({ baseUrl })
  expect(parts).toMatchObject([{ type: "tool-call", name: "Read", args: null, invalid: expect.any(String) }])
})

describe("the Anthropic request", () => {
  test("a request contains key, system, tools and options; a token is sent as bearer; custom headers win", async () => {
    const { simulator, baseUrl } = await simulate("ok")
    const model = anthropic({
      model: "claude-test",
      authToken: "token",
      baseUrl: `${baseUrl}/`,
      headers: { "x-tenant": "acme", "anthropic-version": "2024-01-01" },
      thinkingTokens: 2000,
      maxOutputTokens: 100,
    })
    const conversation = model.converse({
      system: "Be brief",
      tools: [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }],
      temperature: 0.2,
      transport: nodeTransport(),
    })
    await conversation.call([task], {}, new AbortController().signal)
    const [request] = simulator.requests
    expect(request?.headers).toMatchObject({
      authorization: "Bearer token",
      "x-tenant": "acme",
      "anthropic-version": "2024-01-01",
    })
    expect(request?.headers["x-api-key"]).toBeUndefined()
    expect(request?.body).toMatchObject({
      model: "claude-test",
      stream: true,
      temperature: 0.2,
      max_tokens: 3024,
      thinking: { type: "enabled", budget_tokens: 2000 },
      system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral" } }],
      tools: [{ name: "Read", description: "Reads", input_schema: { type: "object" } }],
    })
  })

  test("the repeated prefix is marked for the prompt cache, on the last message only, unless disabled", async () => {
    const { simulator, baseUrl } = await simulate("ok")
    const conversation = anthropic({ model: "m", apiKey: "k", baseUrl }).converse({
      tools: [],
      transport: nodeTransport(),
    })
    const said: Message = { role: "assistant", content: [{ type: "text", text: "ok" }] }
    const messages: Message[] = [task]
    await conversation.call(messages, {}, new AbortController().signal)
    messages.push(said, { role: "user", content: [{ type: "text", text: "more" }] })
    await conversation.call(messages, {}, new AbortController().signal)
    await ask({ baseUrl, promptCache: false })
    const marks = simulator.requests.map(({ body }) => JSON.stringify(body).match(/[^{]*"cache_control"/g))
    expect(marks).toEqual([[expect.stringContaining("Say it")], [expect.stringContaining("more")], null])
  })

  test("reasoning is sent back to the model that wrote it, and to no other", async () => {
    const { simulator, baseUrl } = await simulate("ok")
    const reasoning = (origin: string): Message => ({
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", opaque: "sig", origin },
        { type: "text", text: "so" },
      ],
    })
    await ask(
      { baseUrl },
      { messages: [task, reasoning("anthropic:claude-test"), task, reasoning("other:model"), task] },
    )
    const body = JSON.stringify(simulator.requests[0]?.body)
    expect(body.match(/"thinking":"hm","signature":"sig"/g)).toHaveLength(1)
  })

  test("every call gets a unique id, even if the server repeats ids", async () => {
    const { simulator, baseUrl } = await simulate("ok")
    const step = (callId: string): Message[] => [
      {
        role: "assistant",
        content: [{ type: "tool-call", callId, wireId: "call_0", name: "Read", args: { path: callId } }],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", callId, wireId: "call_0", status: "error", output: [{ type: "text", text: callId }] },
        ],
      },
    ]
    await ask({ baseUrl }, { messages: [task, ...step("1.0"), ...step("2.0")] })
    const [request] = simulator.requests
    const ids = request?.messages.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id))
    expect(ids).toEqual(["call_0", "call_0_2"])
    expect(request?.messages.flatMap(({ toolResults }) => toolResults)).toEqual([
      { id: "call_0", text: "1.0", isError: true },
      { id: "call_0_2", text: "2.0", isError: true },
    ])
  })

  test("a request goes through an injected fetch, which may rewrite it", async () => {
    const { simulator, baseUrl } = await simulate("through")
    const rewriting: typeof fetch = (input, init) => {
      const headers = new Headers(init?.headers)
      headers.delete("x-api-key")
      headers.set("authorization", "Bearer rewritten")
      return fetch(input, { ...init, headers })
    }
    const never: Transport = { stream: () => Promise.reject(new Error("not this one")) }
    const answer = await ask({ baseUrl, fetch: rewriting }, { transport: never })
    expect(answer.parts).toEqual([{ type: "text", text: "through" }])
    expect(simulator.requests[0]?.headers).toMatchObject({ authorization: "Bearer rewritten" })
    expect(simulator.requests[0]?.headers["x-api-key"]).toBeUndefined()
  })
})
