import { describe, expect, test } from "vitest"
import type { Json } from "../../contract/json.ts"
import type { Message } from "../../contract/message.ts"
import type { Answer, AnswerSink } from "../../contract/provider.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { createSimulator } from "../../testing/index.ts"
import { google } from "./index.ts"

const task: Message = { role: "user", content: [{ type: "text", text: "Say it" }] }

function ask(fetch: typeof globalThis.fetch, sink: AnswerSink = {}): Promise<Answer> {
  const model = google({ model: "gemini-2.5-flash", apiKey: "key", fetch })
  const conversation = model.converse({ tools: [], transport: fetchTransport() })
  return conversation.call([task], sink, new AbortController().signal)
}

/** A server that streams exactly these chunks. */
function streams(...chunks: readonly Json[]): typeof fetch {
  const body = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("")
  return async () => new Response(body)
}

const says = (...parts: readonly Json[]): Json => ({ candidates: [{ content: { parts, role: "model" }, index: 0 }] })
const stops = (finishReason: string, more: object = {}): Json => ({
  candidates: [{ content: { parts: [{ text: "" }], role: "model" }, finishReason, index: 0 }],
  ...more,
})

describe("usage", () => {
  test.each([
    ["nothing but text", { promptTokenCount: 12, candidatesTokenCount: 5, totalTokenCount: 17 }, [12, 0, 5]],
    [
      // 2,000 of the 3,100 tokens came from the cache: 1,100 were new.
      "a cached prefix",
      { promptTokenCount: 3100, cachedContentTokenCount: 2000, candidatesTokenCount: 40, totalTokenCount: 3140 },
      [1100, 2000, 40],
    ],
    [
      // Thoughts are billed as output, and the candidates' count omits them.
      "thoughts",
      { promptTokenCount: 30, candidatesTokenCount: 20, thoughtsTokenCount: 400, totalTokenCount: 450 },
      [30, 0, 420],
    ],
    [
      // Tokens added by the server's own tools are not in the prompt's count.
      "tool use",
      {
        promptTokenCount: 90,
        cachedContentTokenCount: 64,
        toolUsePromptTokenCount: 500,
        candidatesTokenCount: 10,
        thoughtsTokenCount: 25,
        totalTokenCount: 625,
      },
      [526, 64, 35],
    ],
    [
      "an image",
      {
        promptTokenCount: 270,
        candidatesTokenCount: 8,
        totalTokenCount: 278,
        promptTokensDetails: [
          { modality: "TEXT", tokenCount: 12 },
          { modality: "IMAGE", tokenCount: 258 },
        ],
      },
      [270, 0, 8],
    ],
    ["an answer of no words", { promptTokenCount: 9, totalTokenCount: 9 }, [9, 0, 0]],
  ])("the usage of %s is counted", async (_, usageMetadata, [inputTokens, cacheReadTokens, outputTokens]) => {
    const { usage } = await ask(streams(says({ text: "Hi" }), stops("STOP", { usageMetadata })))
    expect(usage).toEqual({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens: 0, costUsd: null })
  })

  test("later usage totals replace earlier ones, and omitted ones are kept", async () => {
    const first = { promptTokenCount: 50, cachedContentTokenCount: 40, candidatesTokenCount: 1 }
    const { usage } = await ask(
      streams(
        { ...(says({ text: "Hi" }) as object), usageMetadata: first },
        stops("STOP", { usageMetadata: { promptTokenCount: 50, candidatesTokenCount: 7 } }),
      ),
    )
    expect(usage).toMatchObject({ inputTokens: 10, cacheReadTokens: 40, outputTokens: 7 })
  })

  test("unreported usage stays unknown", async () => {
    const { usage } = await ask(streams(stops("STOP")))
    expect(usage).toMatchObject({ inputTokens: null, outputTokens: null })
  })
})

describe("the Gemini stream", () => {
  test("adjacent texts and thoughts are joined, and one chunk may contain several calls", async () => {
    const heard: string[] = []
    const answer = await ask(
      streams(
        says({ text: "Let me ", thought: true }),
        says({ text: "think", thought: true }, { text: "I " }),
        says({ text: "look." }),
        says({ functionCall: { name: "Read", args: { path: "a" } } }, { functionCall: { name: "List" } }),
        says({ text: "And more." }),
        stops("STOP"),
      ),
      { call: ({ name }, index) => heard.push(`${index} ${name}`) },
    )
    expect(answer.parts).toEqual([
      { type: "reasoning", text: "Let me think" },
      { type: "text", text: "I look." },
      { type: "tool-call", wireId: "call_0", name: "Read", args: { path: "a" } },
      { type: "tool-call", wireId: "call_1", name: "List", args: {} },
      { type: "text", text: "And more." },
    ])
    expect(answer.stopReason).toBe("tool-calls")
    expect(heard).toEqual(["2 Read", "3 List"])
  })

  test("a repeated last chunk counts once, including its signature", async () => {
    const last = says({ text: "", thoughtSignature: "s" })
    const { parts } = await ask(streams(says({ text: "Hi" }), last, last, stops("STOP"), stops("STOP")))
    expect(parts).toEqual([
      { type: "text", text: "Hi" },
      { type: "reasoning", text: "", opaque: { text: "s" } },
    ])
  })

  test("the request id is taken from the body if no header has it, and the model name from the server", async () => {
    const told = { responseId: "resp-7", modelVersion: "gemini-2.5-flash-001" }
    const answer = await ask(streams({ ...(says({ text: "Hi" }) as object), ...told }, stops("STOP")))
    expect(answer).toMatchObject({ requestId: "resp-7", model: "gemini-2.5-flash-001" })
  })

  test.each(["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"])(
    "%s is a refusal",
    async (reason) => {
      expect(await ask(streams(says({ text: "Hi" }), stops(reason)))).toMatchObject({ stopReason: "refusal" })
    },
  )

  test("a blocked prompt is a refusal without an answer", async () => {
    const answer = await ask(
      streams({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 8 } }),
    )
    expect(answer).toMatchObject({ stopReason: "refusal", parts: [], usage: { inputTokens: 8, outputTokens: 0 } })
  })

  test("a call that the server could not parse is retryable", async () => {
    const broken = { parts: [{ toolCall: { name: "Read", rawArgs: '{"path": "a' } }] }
    const { fetch } = createSimulator({ script: () => broken })
    await expect(ask(fetch)).rejects.toMatchObject({
      code: "provider_error",
      retryable: true,
      message: expect.stringContaining("MALFORMED_FUNCTION_CALL"),
    })
  })

  test("a body that ends without a finish reason is incomplete", async () => {
    await expect(ask(streams(says({ text: "Hi" })))).rejects.toMatchObject({ code: "stream_incomplete" })
    await expect(ask(streams())).rejects.toMatchObject({ code: "stream_incomplete" })
  })

  test("a call without a name violates the protocol", async () => {
    await expect(ask(streams(says({ functionCall: { args: {} } })))).rejects.toMatchObject({ code: "stream_malformed" })
  })
})

describe("Gemini failures", () => {
  const refuses =
    (status: number, error: object, headers: Record<string, string> = {}): typeof fetch =>
    async () =>
      new Response(JSON.stringify({ error: { code: status, ...error } }), { status, headers })
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" }
  const quota = { status: "RESOURCE_EXHAUSTED", message: "You exceeded your current quota", details: [{}, retryInfo] }

  test("the retry delay is taken from the body if no header has it", async () => {
    await expect(ask(refuses(429, quota))).rejects.toMatchObject({ code: "rate_limited", retryAfterMs: 7000 })
    await expect(ask(refuses(429, quota, { "retry-after": "3" }))).rejects.toMatchObject({ retryAfterMs: 3000 })
    const precise = { ...quota, details: [{ ...retryInfo, retryDelay: "0.25s" }] }
    await expect(ask(refuses(429, precise))).rejects.toMatchObject({ retryAfterMs: 250 })
  })

  test.each([
    ["auth", 400, { status: "INVALID_ARGUMENT", message: "No.", details: [{ reason: "API_KEY_INVALID" }] }],
    ["auth", 400, { status: "INVALID_ARGUMENT", message: "API key not valid. Please pass a valid API key." }],
    ["auth", 403, { status: "PERMISSION_DENIED", message: "No." }],
    ["auth", 401, { status: "UNAUTHENTICATED", message: "No." }],
    [
      "context_overflow",
      400,
      {
        status: "INVALID_ARGUMENT",
        message: "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
      },
    ],
    ["invalid_request", 400, { status: "INVALID_ARGUMENT", message: "contents is not specified" }],
    ["billing", 400, { status: "FAILED_PRECONDITION", message: "Please enable billing on your project." }],
    ["model_not_found", 404, { status: "NOT_FOUND", message: "models/x is not found" }],
    ["overloaded", 503, { status: "UNAVAILABLE", message: "The model is overloaded." }],
    ["provider_error", 500, { status: "INTERNAL", message: "An internal error has occurred." }],
    ["provider_error", 504, { status: "DEADLINE_EXCEEDED", message: "Too slow." }],
  ] as const)("the failure is %s for %i %o", async (code, status, error) => {
    await expect(ask(refuses(status, error))).rejects.toMatchObject({ code })
  })

  test("a list with one error is one error, and the fix names the variable", async () => {
    const error = { code: 403, status: "PERMISSION_DENIED", message: "No entry" }
    await expect(ask(async () => new Response(JSON.stringify([{ error }]), { status: 403 }))).rejects.toMatchObject({
      code: "auth",
      message: expect.stringContaining("No entry"),
      fix: expect.stringContaining("GEMINI_API_KEY"),
    })
  })
})
