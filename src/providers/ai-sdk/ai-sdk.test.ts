import { describe, expect, test } from "vitest"
import type { Message } from "../../contract/message.ts"
import type { AnswerSink, ConversationSetup } from "../../contract/provider.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "./index.ts"
import type { AiSdkCallV3, AiSdkCallV4, AiSdkPart, AiSdkStream } from "./model.ts"

const task: Message = { role: "user", content: [{ type: "text", text: "Say it" }] }
const usage = {
  inputTokens: { total: 60, noCache: 20, cacheRead: 30, cacheWrite: 10 },
  outputTokens: { total: 7, text: 5, reasoning: 2 },
}
const finish = (unified: string, raw?: string): AiSdkPart => ({
  type: "finish",
  finishReason: { unified, raw },
  usage,
})
const text = (id: string, ...deltas: readonly string[]): readonly AiSdkPart[] => [
  { type: "text-start", id },
  ...deltas.map((delta) => ({ type: "text-delta", id, delta })),
  { type: "text-end", id },
]

type Call = AiSdkCallV3 | AiSdkCallV4

/** A model that streams exactly these parts, and its received requests. */
function streams(parts: readonly AiSdkPart[], version: "v3" | "v4" = "v3", headers: Record<string, string> = {}) {
  const asked: Call[] = []
  const doStream = async (call: Call): Promise<AiSdkStream> => {
    asked.push(call)
    return { stream: ReadableStream.from(parts) as AiSdkStream["stream"], response: { headers } }
  }
  const model: AiSdkModel = { specificationVersion: version, provider: "acme.chat", modelId: "m-1", doStream }
  return { model, asked }
}

interface Asked extends Partial<Omit<ConversationSetup, "transport">> {
  readonly options?: AiSdkOptions
  readonly messages?: readonly Message[]
  readonly sink?: AnswerSink
}

function ask(model: AiSdkModel, { options, messages = [task], sink = {}, ...setup }: Asked = {}) {
  const conversation = fromAiSdk(model, options).converse({ tools: [], ...setup, transport: fetchTransport() })
  return conversation.call(messages, sink, new AbortController().signal)
}

describe.each(["v3", "v4"] as const)("specification %s", (version) => {
  test("text, reasoning and calls arrive in order, with opaque provider data", async () => {
    const heard: string[] = []
    const { model } = streams(
      [
        { type: "stream-start" },
        { type: "response-metadata", id: "resp-1", modelId: "m-1-2026" },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "hm" },
        { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { acme: { signature: "s" } } },
        { type: "reasoning-end", id: "0" },
        ...text("0", "I ", "look."),
        { type: "tool-input-start", id: "c1", toolName: "Read" },
        { type: "tool-input-delta", id: "c1", delta: '{"path"' },
        { type: "tool-input-end", id: "c1" },
        {
          type: "tool-call",
          toolCallId: "c1",
          toolName: "Read",
          input: '{"path":"a"}',
          providerMetadata: { acme: { x: 1 } },
        },
        { type: "tool-call", toolCallId: "c2", toolName: "List", input: "" },
        { type: "tool-call", toolCallId: "c3", toolName: "Read", input: '{"path' },
        finish("tool-calls", "tool_use"),
      ],
      version,
    )
    const answer = await ask(model, {
      sink: {
        partStart: (kind, index) => heard.push(`start ${kind} ${index}`),
        delta: (kind, index, delta) => heard.push(`${kind} ${index} ${delta}`),
        call: ({ name }, index) => heard.push(`call ${name} ${index}`),
      },
    })
    expect(answer).toEqual({
      parts: [
        { type: "reasoning", text: "hm", opaque: { own: { acme: { signature: "s" } } } },
        { type: "text", text: "I look." },
        { type: "tool-call", wireId: "c1", name: "Read", args: { path: "a" }, opaque: { acme: { x: 1 } } },
        { type: "tool-call", wireId: "c2", name: "List", args: {} },
        { type: "tool-call", wireId: "c3", name: "Read", args: null, invalid: expect.any(String) },
      ],
      stopReason: "tool-calls",
      usage: { inputTokens: 20, outputTokens: 7, cacheReadTokens: 30, cacheWriteTokens: 10, costUsd: null },
      model: "m-1-2026",
      requestId: "resp-1",
    })
    expect(heard).toEqual([
      "start reasoning 0",
      "reasoning 0 hm",
      "start text 1",
      "text 1 I ",
      "text 1 look.",
      "call Read 2",
      "call List 3",
      "call Read 4",
    ])
  })

  test("a conversation is converted to the package's format", async () => {
    const { model, asked } = streams([finish("stop", "stop")], version)
    const own = { origin: "acme:m-1" }
    const messages: readonly Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image", mediaType: "image/png", data: "AAAA" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", opaque: { own: { acme: { s: 1 } }, text: { acme: { id: "t" } } }, ...own },
          { type: "text", text: "I look." },
          { type: "reasoning", text: "not mine", opaque: { own: { other: {} } }, origin: "other:model" },
          {
            type: "tool-call",
            callId: "1.0",
            wireId: "c",
            name: "Read",
            args: { path: "a" },
            opaque: { acme: {} },
            ...own,
          },
          {
            type: "tool-call",
            callId: "1.1",
            wireId: "c",
            name: "List",
            args: {},
            opaque: { b: {} },
            origin: "other:b",
          },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", callId: "1.0", status: "ok", output: [{ type: "text", text: "alpha" }] },
          { type: "tool-result", callId: "1.1", status: "error", output: [{ type: "text", text: "no" }] },
        ],
      },
    ]
    await ask(model, {
      messages,
      system: "Be brief",
      tools: [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }],
      temperature: 0.5,
      effort: "high",
      outputSchema: { type: "object", properties: { city: { type: "string", minLength: 2 } } },
      options: {
        maxOutputTokens: 99,
        topP: 0.9,
        topK: 4,
        seed: 7,
        stopSequences: ["HALT"],
        headers: { "x-tenant": "acme" },
        providerOptions: { acme: { tier: "fast" } },
      },
    })
    const { abortSignal, ...call } = asked[0] as Call
    expect(abortSignal).toBeInstanceOf(AbortSignal)
    expect(call).toEqual({
      prompt: [
        { role: "system", content: "Be brief" },
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "file", mediaType: "image/png", data: version === "v3" ? "AAAA" : { type: "data", data: "AAAA" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", providerOptions: { acme: { s: 1 } } },
            { type: "text", text: "I look.", providerOptions: { acme: { id: "t" } } },
            {
              type: "tool-call",
              toolCallId: "c",
              toolName: "Read",
              input: { path: "a" },
              providerOptions: { acme: {} },
            },
            { type: "tool-call", toolCallId: "c_2", toolName: "List", input: {} },
          ],
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", toolCallId: "c", toolName: "Read", output: { type: "text", value: "alpha" } },
            { type: "tool-result", toolCallId: "c_2", toolName: "List", output: { type: "error-text", value: "no" } },
          ],
        },
      ],
      tools: [{ type: "function", name: "Read", description: "Reads", inputSchema: { type: "object" } }],
      responseFormat: {
        type: "json",
        schema: { type: "object", properties: { city: { type: "string" } }, additionalProperties: false },
      },
      temperature: 0.5,
      maxOutputTokens: 99,
      topP: 0.9,
      topK: 4,
      seed: 7,
      stopSequences: ["HALT"],
      headers: { "x-tenant": "acme" },
      providerOptions: { acme: { tier: "fast" } },
      ...(version === "v4" && { reasoning: "high" }),
    })
  })

  test.each([
    ["end", "stop", "end_turn"],
    ["tool-calls", "tool-calls", "tool_use"],
    ["output-limit", "length", "max_tokens"],
    ["refusal", "content-filter", "refusal"],
    ["pause", "stop", "pause_turn"],
    ["context-overflow", "length", "model_context_window_exceeded"],
  ])("an answer has the stop reason %s", async (stopReason, unified, raw) => {
    expect(await ask(streams([finish(unified, raw)], version).model)).toMatchObject({ stopReason })
  })

  test.each([
    ["stream_incomplete", "no finish at all", []],
    ["stream_incomplete", "a finish without a reason", [finish("other")]],
    ["stream_incomplete", "an interrupted finish", [finish("interrupted")]],
    ["unexpected_stop", "a reason that nobody knows", [finish("other", "GONE_FISHING")]],
    ["provider_error", "a finish for an error", [finish("error", "MALFORMED_FUNCTION_CALL")]],
    ["stream_malformed", "a delta of nothing", [{ type: "text-delta", id: "9", delta: "x" }]],
  ] as const)("the failure is %s for %s", async (code, _, end) => {
    const { model } = streams([...text("0", "Hi"), ...end], version, { "x-request-id": "req-1" })
    await expect(ask(model)).rejects.toMatchObject({ code, requestId: "req-1" })
  })
})

test("tool calls run by the provider and unknown parts are skipped", async () => {
  const { model } = streams([
    { type: "tool-call", toolCallId: "s", toolName: "web_search", input: "{}", providerExecuted: true },
    { type: "tool-result", toolCallId: "s", toolName: "web_search" },
    { type: "source", id: "1" },
    { type: "text-start", id: "empty" },
    { type: "text-end", id: "empty" },
    ...text("0", "Found it."),
    finish("stop", "stop"),
  ])
  expect((await ask(model)).parts).toEqual([{ type: "text", text: "Found it." }])
})

test("a repeated start or call counts once", async () => {
  const call = { type: "tool-call", toolCallId: "c", toolName: "Read", input: "{}" }
  const start = { type: "reasoning-start", id: "0" }
  const { model } = streams([
    start,
    { type: "reasoning-delta", id: "0", delta: "h" },
    start,
    { type: "reasoning-delta", id: "0", delta: "m" },
    call,
    call,
    { ...call, toolCallId: "c2" },
    finish("tool-calls", "tool_use"),
  ])
  expect((await ask(model)).parts).toMatchObject([{ text: "hm" }, { wireId: "c" }, { wireId: "c2" }])
})

test("combined usage is split, and unreported usage stays unknown", async () => {
  const counted = (inputTokens: object, total?: number) => {
    const reported = { inputTokens, outputTokens: { total } } as unknown as NonNullable<AiSdkPart["usage"]>
    return ask(streams([{ ...finish("stop", "stop"), usage: reported }]).model)
  }
  expect((await counted({ total: 50, cacheRead: 40 }, 3)).usage).toMatchObject({ inputTokens: 10, cacheReadTokens: 40 })
  expect((await counted({})).usage).toMatchObject({ inputTokens: null, outputTokens: null, cacheReadTokens: 0 })
})

test.each([
  ["an older specification", { specificationVersion: "v2", provider: "acme", modelId: "m" }],
  ["a name", "openai/gpt-5"],
  ["nothing", undefined],
])("%s is rejected with a fix", (_, model) => {
  expect(() => fromAiSdk(model as unknown as AiSdkModel)).toThrow(
    expect.objectContaining({ code: "config_invalid", fix: expect.any(String) }),
  )
})
