import { APICallError, JSONParseError, LoadAPIKeyError, UnsupportedFunctionalityError } from "@ai-sdk/provider"
import { expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import type { AnswerSink } from "../../contract/provider.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "./index.ts"
import type { AiSdkCallV3, AiSdkCallV4, AiSdkPart, AiSdkStream } from "./model.ts"

function ask(
  model: AiSdkModel,
  { options, sink = {}, signal }: { options?: AiSdkOptions; sink?: AnswerSink; signal?: AbortSignal } = {},
) {
  const task: Message = { role: "user", content: [{ type: "text", text: "Say it" }] }
  const conversation = fromAiSdk(model, options).converse({ tools: [], transport: fetchTransport() })
  return conversation.call([task], sink, signal ?? new AbortController().signal)
}

function modelOf(
  specificationVersion: "v3" | "v4",
  doStream: (call: AiSdkCallV3 | AiSdkCallV4) => Promise<AiSdkStream>,
): AiSdkModel {
  return { specificationVersion, provider: "acme.chat", modelId: "m-1", doStream }
}

/** A model that sends this many words and then this. */
function says(words: readonly string[], end: AiSdkPart): AiSdkModel {
  const parts: readonly AiSdkPart[] = [
    { type: "text-start", id: "0" },
    ...words.map((delta) => ({ type: "text-delta", id: "0", delta })),
    end,
  ]
  return modelOf("v3", async () => ({ stream: ReadableStream.from(parts) as AiSdkStream["stream"] }))
}

const api = (statusCode: number | undefined, message: string, more: object = {}) =>
  new APICallError({ message, url: "http://acme", requestBodyValues: {}, ...(statusCode && { statusCode }), ...more })
const thrown: readonly [code: string, retryable: boolean, what: string, error: unknown, data?: object][] = [
  ["rate_limited", true, "429", api(429, "slow", { responseHeaders: { "retry-after": "7" } }), { retryAfterMs: 7000 }],
  ["auth", false, "401", api(401, "no", { responseHeaders: { "request-id": "r" } }), { requestId: "r" }],
  ["provider_error", true, "500", api(500, "boom")],
  ["overloaded", true, "529", api(529, "busy")],
  [
    "auth",
    false,
    "Google's wrong key",
    api(400, "no", { responseBody: '{"error":{"details":[{"reason":"API_KEY_INVALID"}]}}' }),
  ],
  ["billing", false, "an empty account", api(429, "pay", { responseBody: '{"error":{"code":"insufficient_quota"}}' })],
  ["context_overflow", false, "too much", api(400, "prompt is too long: 9 tokens > 8 maximum")],
  ["network", true, "a server that cannot be reached", api(undefined, "Cannot connect to API: ECONNREFUSED")],
  ["network", true, "a stream that broke", api(200, "Failed to process successful response")],
  ["network", true, "a fetch that failed", new TypeError("fetch failed", { cause: { code: "ECONNRESET" } })],
  ["network", true, "a timeout of the package's own", new DOMException("late", "TimeoutError")],
  ["stream_malformed", false, "what is not JSON", new JSONParseError({ text: "{", cause: new Error("x") })],
  [
    "auth",
    false,
    "a missing key",
    new LoadAPIKeyError({ message: "API key is missing" }),
    { fix: expect.stringContaining("_API_KEY") },
  ],
  ["invalid_request", false, "what a package cannot do", new UnsupportedFunctionalityError({ functionality: "files" })],
  ["overloaded", true, "an event as the server sent it", { type: "overloaded_error", message: "Overloaded" }],
  [
    "provider_error",
    true,
    "an event within another",
    { type: "error", error: { type: "server_error", message: "Boom" } },
  ],
  ["rate_limited", true, "throttling in the words of an overflow", api(429, "Too many tokens, please wait.")],
  ["rate_limited", true, "a status beside an event", { message: "slow", statusCode: 429, isRetryable: true }],
  ["provider_error", true, "anything else", new Error("no idea")],
  ["provider_error", true, "a string", "no idea"],
  ["config_invalid", false, "one of ours", new LonghaulError("config_invalid", "ours")],
]

test.each(thrown)(
  "the failure is %s (retryable: %s) for %s, thrown or streamed",
  async (code, retryable, _, error, data = {}) => {
    const throwing = modelOf("v3", () => Promise.reject(error))
    await expect(ask(throwing)).rejects.toMatchObject({ code, retryable, ...data })
    const model = says(["Hi"], { type: "error", error })
    await expect(ask(model)).rejects.toMatchObject({ code, retryable, ...data })
  },
)

test("a stalled model is aborted and reported, whether or not it honours the signal", async () => {
  const signals: AbortSignal[] = []
  const silent = modelOf("v3", ({ abortSignal }) => {
    signals.push(abortSignal as AbortSignal)
    return new Promise<never>(() => {})
  })
  let cancelled = false
  const stuck = modelOf("v4", async ({ abortSignal }) => {
    signals.push(abortSignal as AbortSignal)
    const stream = new ReadableStream<AiSdkPart>({
      start: (controller) => controller.enqueue({ type: "text-start", id: "0" }),
      cancel: () => {
        cancelled = true
      },
    })
    return { stream }
  })
  const stalled = { code: "stream_stalled", retryable: true }
  await expect(ask(silent, { options: { deadlines: { firstByteMs: 20 } } })).rejects.toMatchObject(stalled)
  await expect(ask(stuck, { options: { deadlines: { idleMs: 20 } } })).rejects.toMatchObject(stalled)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  expect(cancelled).toBe(true)
})

test("events that a package generates itself do not count as the first byte", async () => {
  const model = modelOf("v3", async () => ({
    stream: new ReadableStream<AiSdkPart>({ start: (controller) => controller.enqueue({ type: "stream-start" }) }),
  }))
  const deadlines = { firstByteMs: 20, idleMs: 600_000 }
  await expect(ask(model, { options: { deadlines } })).rejects.toMatchObject({ code: "stream_stalled" })
})

test("an abort rejects immediately even if the model ignores it, and nothing is delivered afterwards", async () => {
  const abort = new AbortController()
  const heard: string[] = []
  const model = says(["a", "b", "c"], { type: "finish", finishReason: { unified: "stop", raw: "stop" } })
  const call = ask(model, {
    signal: abort.signal,
    sink: {
      delta: (_, __, delta) => {
        heard.push(delta)
        abort.abort()
      },
    },
  })
  await expect(call).rejects.toMatchObject({ code: "cancelled", retryable: false })
  const late = new AbortController()
  const silent = modelOf("v3", () => new Promise(() => {}))
  const waiting = ask(silent, { signal: late.signal })
  late.abort()
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" })
  await new Promise((resolve) => setTimeout(resolve))
  expect(heard).toEqual(["a"])
})

test("a call aborted before it starts never reaches the model", async () => {
  let asked = 0
  const model = modelOf("v3", async () => {
    asked++
    return { stream: new ReadableStream<AiSdkPart>() }
  })
  await expect(ask(model, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" })
  expect(asked).toBe(0)
})

test("events in flight when the call was aborted are not delivered", async () => {
  const abort = new AbortController()
  const heard: string[] = []
  const parts: AiSdkPart[] = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "a" },
  ]
  const stream = new ReadableStream<AiSdkPart>(
    {
      pull(controller) {
        const part = parts.shift()
        if (part !== undefined) controller.enqueue(part)
        if (part?.delta !== undefined) abort.abort()
      },
    },
    { highWaterMark: 0 },
  )
  const sink: AnswerSink = { delta: (_, __, delta) => heard.push(delta) }
  const model = modelOf("v3", async () => ({ stream }))
  await expect(ask(model, { signal: abort.signal, sink })).rejects.toMatchObject({ code: "cancelled" })
  await new Promise((resolve) => setTimeout(resolve))
  expect(heard).toEqual([])
})
