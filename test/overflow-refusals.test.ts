import { afterAll, expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import type { Model } from "../src/contract/provider.ts"
import { createRuntime } from "../src/index.ts"
import { windowIn } from "../src/lib/overflow-texts.ts"
import { anthropic } from "../src/providers/anthropic/index.ts"
import { google } from "../src/providers/google/index.ts"
import { openai } from "../src/providers/openai/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { createSimulator } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

const WINDOW = 8000
const CHARACTERS_PER_TOKEN = 3.6

const models = {
  anthropic: (fetch: typeof globalThis.fetch) => anthropic({ model: "claude-sonnet-4-6", apiKey: "key", fetch }),
  responses: (fetch: typeof globalThis.fetch) => openai({ model: "gpt-5.5", apiKey: "key", fetch }),
  chat: (fetch: typeof globalThis.fetch) => openai({ model: "gpt-5.5", api: "chat", apiKey: "key", fetch }),
  gemini: (fetch: typeof globalThis.fetch) => google({ model: "gemini-3-pro-preview", apiKey: "key", fetch }),
} satisfies Record<string, (fetch: typeof globalThis.fetch) => Model>

/** What a server with a window of `w` tokens responds to a request of `n`. */
type Refuse = (n: number, w: number) => readonly [status: number, body: object]
const ofAnthropic = (message: string, status = 400, type = "invalid_request_error"): ReturnType<Refuse> => [
  status,
  { type: "error", error: { type, message } },
]
const ofOpenai = (
  message: string,
  code: string | number | null = null,
  status = 400,
  type = "invalid_request_error",
): ReturnType<Refuse> => [status, { error: { message, type, param: null, code } }]
const ofGoogle = (message: string): ReturnType<Refuse> => [
  400,
  { error: { code: 400, message, status: "INVALID_ARGUMENT" } },
]

/** As the servers say it, with their numbers. `true`: it tells the window. */
const refusals: readonly (readonly [protocol: keyof typeof models, server: string, tellsWindow: boolean, Refuse])[] = [
  ["anthropic", "Anthropic, the prompt", true, (n, w) => ofAnthropic(`prompt is too long: ${n} tokens > ${w} maximum`)],
  [
    "anthropic",
    "Anthropic, prompt and answer",
    true,
    (n, w) =>
      ofAnthropic(
        `input length and \`max_tokens\` exceed context limit: ${n} + 8192 > ${w}, decrease input length or \`max_tokens\` and try again`,
      ),
  ],
  [
    "anthropic",
    "Anthropic, bytes",
    false,
    () => ofAnthropic("Request exceeds the maximum size", 413, "request_too_large"),
  ],
  ["anthropic", "Bedrock", false, () => ofAnthropic("Input is too long for requested model.")],
  ["anthropic", "Anthropic on Vertex", false, () => ofAnthropic("Prompt is too long")],
  [
    "responses",
    "OpenAI, Responses",
    false,
    () =>
      ofOpenai(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded",
      ),
  ],
  [
    "chat",
    "OpenAI, messages",
    true,
    (n, w) =>
      ofOpenai(
        `This model's maximum context length is ${w} tokens. However, your messages resulted in ${n} tokens. Please reduce the length of the messages.`,
        "context_length_exceeded",
      ),
  ],
  [
    "chat",
    "OpenAI, messages and completion",
    true,
    (n, w) =>
      ofOpenai(
        `This model's maximum context length is ${w} tokens. However, you requested ${n + 4096} tokens (${n} in the messages, 4096 in the completion). Please reduce the length of the messages or completion.`,
        "context_length_exceeded",
      ),
  ],
  [
    "chat",
    "xAI",
    true,
    (n, w) => ofOpenai(`This model's maximum prompt length is ${w} but the request contains ${n} tokens.`),
  ],
  [
    "chat",
    "Groq",
    false,
    () => ofOpenai("Please reduce the length of the messages or completion.", "context_length_exceeded"),
  ],
  [
    "chat",
    "Groq, tokens per minute",
    true,
    (n, w) =>
      ofOpenai(
        `Request too large for model \`llama-3.3-70b\` in organization \`org\` service tier \`on_demand\` on tokens per minute (TPM): Limit ${w}, Requested ${n}, please reduce your message size and try again.`,
        "rate_limit_exceeded",
        413,
        "tokens",
      ),
  ],
  [
    "chat",
    "OpenAI, tokens per minute",
    true,
    (n, w) =>
      ofOpenai(
        `Request too large for gpt-5.5 in organization org-x on tokens per min (TPM): Limit ${w}, Requested ${n}. The input or output tokens must be reduced in order to run successfully.`,
        "rate_limit_exceeded",
        429,
        "tokens",
      ),
  ],
  [
    "chat",
    "vLLM",
    true,
    (n, w) =>
      ofOpenai(
        `This model's maximum context length is ${w} tokens. However, your request has ${n} input tokens. Please reduce the length of the input messages. None`,
        400,
        400,
        "BadRequestError",
      ),
  ],
  [
    "chat",
    "llama.cpp",
    true,
    (_, w) =>
      ofOpenai(
        `the request exceeds the available context size (${w} tokens), try increasing it`,
        400,
        400,
        "exceed_context_size_error",
      ),
  ],
  [
    "chat",
    "LM Studio",
    false,
    () =>
      ofOpenai(
        "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input",
      ),
  ],
  [
    "chat",
    "Mistral",
    true,
    (n, w) =>
      ofOpenai(`Prompt contains ${n} tokens and 0 draft tokens, too large for model with ${w} maximum context length`),
  ],
  [
    "chat",
    "DeepSeek",
    true,
    (n, w) =>
      ofOpenai(
        `This model's maximum context length is ${w} tokens. However, you requested ${n} tokens (${n - 10} in the messages, 10 in the completion).`,
      ),
  ],
  [
    "chat",
    "Kimi",
    true,
    (n, w) => ofOpenai(`Invalid request: Your request exceeded model token limit: ${w} (requested: ${n})`),
  ],
  [
    "chat",
    "Together",
    true,
    (n, w) =>
      ofOpenai(
        `Input validation error: \`inputs\` tokens + \`max_new_tokens\` must be <= ${w}. Given: ${n} \`inputs\` tokens and 512 \`max_new_tokens\``,
      ),
  ],
  [
    "chat",
    "GitHub Copilot",
    true,
    (n, w) => ofOpenai(`prompt token count of ${n} exceeds the limit of ${w}`, "model_max_prompt_tokens_exceeded"),
  ],
  [
    "chat",
    "Cerebras",
    true,
    (n, w) =>
      ofOpenai(
        `Please reduce the length of the messages or completion. Current length is ${n} while limit is ${w}`,
        "context_length_exceeded",
      ),
  ],
  ["chat", "GLM", false, () => ofOpenai("Prompt exceeds max length", "1261")],
  ["chat", "Qwen", true, (_, w) => ofOpenai(`Range of input length should be [1, ${w}]`, "invalid_parameter_error")],
  [
    "chat",
    "OpenRouter",
    true,
    (n, w) =>
      ofOpenai(
        `This endpoint's maximum context length is ${w} tokens. However, you requested about ${n} tokens (${n - 5} of text input, 5 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`,
        400,
      ),
  ],
  ["chat", "Ollama", false, (n, w) => ofOpenai(`prompt too long; exceeded max context length by ${n - w} tokens`)],
  ["chat", "MiniMax", false, () => ofOpenai("invalid params, context window exceeds limit (2013)")],
  [
    "gemini",
    "Gemini, tokens",
    true,
    (n, w) => ofGoogle(`The input token count (${n}) exceeds the maximum number of tokens allowed (${w}).`),
  ],
  ["gemini", "Gemini, bytes", false, () => ofGoogle("Request payload size exceeds the limit: 20971520 bytes.")],
  [
    "gemini",
    "Vertex",
    true,
    (n, w) =>
      ofGoogle(
        `Unable to submit request because the input token count is ${n} but model only supports up to ${w}. Reduce the input token count and try again.`,
      ),
  ],
]

/** A server with a small window, which refuses longer requests in these words. */
function smallServer(refuse: Refuse, turns: number) {
  let turn = 0
  let refused = 0
  const simulator = createSimulator({
    script: ({ system = "" }) => {
      if (system.startsWith("You write the summary")) return "Goal: go on."
      return ++turn > turns ? "Read." : { parts: [{ toolCall: { name: "page", args: { n: turn } } }] }
    },
  })
  const send = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const tokens = Math.ceil((await request.clone().text()).length / CHARACTERS_PER_TOKEN)
    if (tokens <= WINDOW) return simulator.fetch(request)
    refused++
    const [status, body] = refuse(tokens, WINDOW)
    return Response.json(body, { status })
  }
  return { send, refused: () => refused }
}

const page = defineTool({
  name: "page",
  description: "Reads a page.",
  inputSchema: { type: "object", properties: { n: { type: "integer" } } },
  effect: "none",
  run: ({ n }: { n?: number }) => `Page ${n}: ${"sheep grass river stone ".repeat(160)}`,
})

let recovered = 0
afterAll(() => console.log(`refusals as too long: ${refusals.length}, runs that were done after them: ${recovered}`))

test.each(refusals)(
  "over %s, a refusal of %s as too long shortens the conversation, and the run goes on",
  async (protocol, _, __, refuse) => {
    const { send, refused } = smallServer(refuse, 12)
    const runtime = createRuntime({
      store: memoryStore(),
      model: models[protocol](send),
      backend: native({ retry: { firstMs: 1 } }),
      tools: [page],
    })
    const result = await runtime.run({ task: "Read the book." })
    expect(result).toMatchObject({ status: "done", text: "Read.", turns: 13 })
    expect(refused()).toBeGreaterThan(0)
    recovered++
    // A refusal is an overflow once, and not waited for like a limit of requests.
    expect(refused()).toBeLessThan(6)
  },
)

test.each(refusals)("over %s, the window in a refusal of %s is read: %s", (_, __, tellsWindow, refuse) => {
  const told = windowIn(JSON.stringify(refuse(12_345, WINDOW)[1]))
  expect(told).toBe(tellsWindow ? WINDOW : undefined)
})

const throttled = "Too many tokens, please wait before trying again."
const throttling: Record<keyof typeof models, object> = {
  anthropic: { type: "error", error: { type: "rate_limit_error", message: throttled } },
  responses: { error: { message: throttled, type: "tokens", param: null, code: null } },
  chat: { error: { message: throttled, type: "tokens", param: null, code: null } },
  gemini: { error: { code: 429, message: throttled, status: "RESOURCE_EXHAUSTED" } },
}

test.each(Object.keys(models) as (keyof typeof models)[])(
  "over %s, throttling in the words of an overflow is a limit of requests",
  async (protocol) => {
    const model = models[protocol](async () => Response.json(throttling[protocol], { status: 429 }))
    const runtime = createRuntime({ store: memoryStore(), model, backend: native({ retry: { attempts: 1 } }) })
    expect(await runtime.run({ task: "Go." })).toMatchObject({ status: "failed", error: { code: "rate_limited" } })
  },
)

test.each([
  [throttled, 429],
  [
    "Rate limit reached for gpt-5.5 in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
    429,
  ],
  ["Rate limit reached for model `llama` on tokens per minute (TPM): Limit 6000, Used 5000, Requested 1200.", 413],
])("a limit of requests is none of the window: %s", async (message, status) => {
  const model = models.chat(async () => Response.json(ofOpenai(message, "rate_limit_exceeded")[1], { status }))
  const runtime = createRuntime({ store: memoryStore(), model, backend: native({ retry: { attempts: 1 } }) })
  expect(await runtime.run({ task: "Go." })).toMatchObject({ status: "failed", error: { code: "rate_limited" } })
})
