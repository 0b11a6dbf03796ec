import { describe, expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { Message } from "../../contract/message.ts"
import type { Effort } from "../../contract/model-settings.ts"
import type { Answer, ConversationSetup, Transport } from "../../contract/provider.ts"
import { createSimulator, type FaultOrder, type SimulatedAnswer, type Simulator } from "../../testing/index.ts"
import { type OpenAiOptions, openai } from "./index.ts"

const task: Message = { role: "user", content: [{ type: "text", text: "Say it" }] }
const never: Transport = { stream: () => Promise.reject(new Error("not this one")) }

/** A simulator instead of fetch, so that any address works. */
function simulate(answer: SimulatedAnswer = "ok", fault?: FaultOrder): Simulator {
  return createSimulator({ script: () => answer, faults: [fault ?? null] })
}

function ask(
  simulator: Simulator,
  options: Partial<OpenAiOptions> = {},
  { messages = [task], ...setup }: Partial<ConversationSetup> & { readonly messages?: readonly Message[] } = {},
): Promise<Answer> {
  const model = openai({ model: "gpt-5.5", apiKey: "key", fetch: simulator.fetch as typeof fetch, ...options })
  return model.converse({ tools: [], ...setup, transport: never }).call(messages, {}, new AbortController().signal)
}

async function bodyOf(...[options, setup]: [Partial<OpenAiOptions>?, Parameters<typeof ask>[2]?]): Promise<JsonObject> {
  const simulator = simulate()
  await ask(simulator, options, setup)
  return simulator.requests[0]?.body as JsonObject
}

async function failure(work: Promise<unknown>): Promise<LonghaulError> {
  const error = await work.then(
    () => new Error("It should have failed"),
    (thrown: unknown) => thrown,
  )
  if (!LonghaulError.is(error)) throw error
  return error
}

describe("choice of API and address", () => {
  test.each([
    [{}, "/v1/responses"],
    [{ baseUrl: "https://api.openai.com/v1/" }, "/v1/responses"],
    [{ baseUrl: "https://eu.api.openai.com/v1" }, "/v1/responses"],
    [{ baseUrl: "https://openrouter.ai/api/v1" }, "/api/v1/chat/completions"],
    [{ baseUrl: "http://127.0.0.1:11434/v1" }, "/v1/chat/completions"],
    [{ baseUrl: "https://notapi.openai.com/v1" }, "/v1/chat/completions"],
    [{ baseUrl: "https://api.openai.com.example/v1" }, "/v1/chat/completions"],
    [{ baseUrl: "http://127.0.0.1:1234/v1", api: "responses" }, "/v1/responses"],
    [{ api: "chat" }, "/v1/chat/completions"],
  ] as [Partial<OpenAiOptions>, string][])("%o sends requests to %s", async (options, path) => {
    const simulator = simulate()
    await ask(simulator, options)
    expect(simulator.requests.map((request) => request.path)).toEqual([path])
  })

  test("the provider is named openai, or after the configured service", () => {
    expect(openai({ model: "gpt-5.5" })).toMatchObject({ provider: "openai", id: "gpt-5.5", enforcesSchema: true })
    const other = openai({ model: "qwen3", provider: "ollama", structuredOutput: false, maxOutputTokens: 9 })
    expect(other).toMatchObject({ provider: "ollama", enforcesSchema: false, maxOutputTokens: 9 })
  })

  test.each([{ seed: 1 }, { stopSequences: ["x"] }])(
    "an option that Responses does not support is rejected: %o",
    (options) => {
      const make = () => openai({ model: "gpt-5.5", ...options })
      expect(make).toThrow(expect.objectContaining({ code: "config_invalid", fix: expect.stringContaining("chat") }))
      expect(openai({ model: "gpt-5.5", api: "chat", ...options }).id).toBe("gpt-5.5")
    },
  )
})

describe("OpenAI headers", () => {
  test.each(["responses", "chat"] as const)(
    "requests to %s contain key, organization and project; custom headers win",
    async (api) => {
      const simulator = simulate()
      const headers = { "x-tenant": "acme", "openai-project": "mine" }
      await ask(simulator, { api, organization: "org-1", project: "proj-1", headers })
      expect(simulator.requests[0]?.headers).toMatchObject({
        authorization: "Bearer key",
        "openai-organization": "org-1",
        "openai-project": "mine",
        "x-tenant": "acme",
      })
    },
  )

  test.each([undefined, ""])("there is no authorization header if the key is %o", async (apiKey) => {
    const simulator = simulate()
    const { model, fetch } = { model: "qwen3", fetch: simulator.fetch as typeof globalThis.fetch }
    const options = { model, fetch, baseUrl: "http://127.0.0.1:11434/v1", ...(apiKey !== undefined && { apiKey }) }
    await openai(options).converse({ tools: [], transport: never }).call([task], {}, new AbortController().signal)
    expect(simulator.requests[0]?.headers.authorization).toBeUndefined()
  })
})

describe("OpenAI failures", () => {
  test.each([
    ["billing", false, { kind: "status", status: 429, type: "insufficient_quota", retryAfter: "7" }],
    ["rate_limited", true, { kind: "status", status: 429 }],
    ["context_overflow", false, { kind: "status", status: 400, type: "context_length_exceeded" }],
    ["context_overflow", false, { kind: "status", status: 400, message: "maximum context length is 8192 tokens" }],
    ["content_filtered", false, { kind: "status", status: 400, type: "content_policy_violation" }],
    ["model_not_found", false, { kind: "status", status: 404 }],
    ["provider_error", true, { kind: "error-event", type: "server_error", message: "Boom" }],
    ["rate_limited", true, { kind: "error-event", type: "rate_limit_exceeded", message: "Slow down" }],
    ["context_overflow", false, { kind: "error-event", type: "context_length_exceeded", message: "Too long" }],
  ] as [string, boolean, FaultOrder][])("the failure is %s (retryable: %s) for %o", async (code, retryable, fault) => {
    for (const api of ["responses", "chat"] as const) {
      const error = await failure(ask(simulate("A text of some length", fault), { api }))
      expect(error.toJSON()).toMatchObject({ code, retryable, requestId: "req_sim_000000" })
    }
  })

  test("a rejected key names the variable of this server's key", async () => {
    const refusing = createSimulator({ script: () => "ok", apiKey: "right" })
    const error = await failure(
      ask(refusing, { baseUrl: "https://openrouter.ai/api/v1", keyName: "OPENROUTER_API_KEY" }),
    )
    expect(error).toMatchObject({ code: "auth", fix: expect.stringContaining("OPENROUTER_API_KEY") })
  })

  test.each([
    ["model_not_found", 404, '{"error":"model \\"x\\" not found"}', 'model "x" not found'],
    ["invalid_request", 400, '{"object":"error","message":"bad","type":"BadRequestError","code":400}', "bad"],
    ["context_overflow", 400, '{"error":{"code":400,"message":"x","type":"exceed_context_size_error"}}', "x"],
    ["rate_limited", 429, '{"error":{"message":"too many tokens per minute"}}', "too many tokens"],
    ["provider_error", 502, "<html>Bad Gateway</html>", "Bad Gateway"],
  ])("the failure is %s if a compatible server reports %i %s", async (code, status, body, message) => {
    const refusing: typeof fetch = async () => new Response(body, { status })
    const error = await failure(ask(simulate(), { fetch: refusing }))
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) })
  })
})

describe("the OpenAI request", () => {
  const history: readonly Message[] = [
    { role: "user", content: [{ type: "text", text: "Read it" }] },
    {
      role: "assistant",
      content: [{ type: "tool-call", callId: "1.1", wireId: `call_${"x".repeat(80)}`, name: "Read", args: null }],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", callId: "1.1", status: "error", output: [{ type: "text", text: "no such file" }] },
      ],
    },
  ]

  test("constant parts of a Chat request come first, the messages last", async () => {
    const body = await bodyOf(
      { api: "chat", seed: 7 },
      { messages: history, system: "Be brief", tools: [{ name: "Read", description: "Reads", inputSchema: {} }] },
    )
    const id = `call_${"x".repeat(35)}`
    expect(body).toEqual({
      model: "gpt-5.5",
      stream: true,
      stream_options: { include_usage: true },
      seed: 7,
      tools: [{ type: "function", function: { name: "Read", description: "Reads", parameters: {} } }],
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "Read it" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id, type: "function", function: { name: "Read", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: id, content: "no such file" },
      ],
    })
    expect(Object.keys(body).at(-1)).toBe("messages")
  })

  test("constant parts of a Responses request come first, the input last", async () => {
    const body = await bodyOf(
      {},
      { messages: history, system: "Be brief", tools: [{ name: "Read", description: "Reads", inputSchema: {} }] },
    )
    const id = `call_${"x".repeat(59)}`
    expect(body).toEqual({
      model: "gpt-5.5",
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      instructions: "Be brief",
      tools: [{ type: "function", name: "Read", description: "Reads", parameters: {}, strict: false }],
      input: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "Read it" }] },
        { type: "function_call", call_id: id, name: "Read", arguments: "{}" },
        { type: "function_call_output", call_id: id, output: "no such file" },
      ],
    })
    expect(Object.keys(body).at(-1)).toBe("input")
  })

  test("the output limit uses the server's parameter name", async () => {
    const limit = { maxOutputTokens: 500 }
    expect(await bodyOf({ api: "chat" }, limit)).toMatchObject({ max_completion_tokens: 500 })
    const other = await bodyOf({ baseUrl: "http://127.0.0.1:11434/v1" }, limit)
    expect([other.max_tokens, other.max_completion_tokens]).toEqual([500, undefined])
    expect(await bodyOf({ maxOutputTokens: 300 })).toMatchObject({ max_output_tokens: 300 })
  })

  test.each([
    ["gpt-5.5", "low", "low"],
    ["gpt-5.5", "max", "xhigh"],
    ["openai/gpt-6", "max", "xhigh"],
    ["gpt-5.1-codex-max", "max", "xhigh"],
    ["gpt-5", "max", "high"],
    ["gpt-5.1", "max", "high"],
    ["deepseek-v4", "max", "high"],
    ["gpt-5-mini", "minimal", "minimal"],
    ["gpt-5.5", "minimal", "low"],
    ["gpt-4.1", "high", undefined],
    ["gpt-5-chat-latest", "high", undefined],
    ["ft:gpt-4o-2024-08-06:acme", "high", undefined],
  ] as [string, Effort, string | undefined][])("%s with effort %s is sent as %s", async (model, effort, word) => {
    expect((await bodyOf({ api: "chat", model }, { effort })).reasoning_effort).toBe(word)
    const body = await bodyOf({ api: "responses", model }, { effort })
    expect(body.reasoning).toEqual(word === undefined ? undefined : { effort: word, summary: "auto" })
    expect(body.include).toEqual(word === undefined ? undefined : ["reasoning.encrypted_content"])
  })

  test("a schema is strict only if nothing is optional, and omitted if the server rejects schemas", async () => {
    const properties = { city: { type: "string", minLength: 2 }, zip: { type: "string" } }
    const closed = {
      type: "object",
      properties: { city: { type: "string" }, zip: { type: "string" } },
      additionalProperties: false,
    }
    for (const [required, strict] of [
      [["city", "zip"], true],
      [["city"], false],
    ] as const) {
      const outputSchema = { type: "object", properties, required }
      const format = { name: "answer", schema: { ...closed, required }, strict }
      const chat = await bodyOf({ api: "chat" }, { outputSchema })
      expect(chat.response_format).toEqual({ type: "json_schema", json_schema: format })
      expect((await bodyOf({}, { outputSchema })).text).toEqual({ format: { type: "json_schema", ...format } })
      for (const api of ["responses", "chat"] as const) {
        const { text, response_format } = await bodyOf({ api, structuredOutput: false }, { outputSchema })
        expect([text, response_format]).toEqual([undefined, undefined])
      }
    }
  })

  test("encrypted reasoning is sent back with its id and summary, except when nothing followed it", async () => {
    const simulator = createSimulator({
      script: ({ index }) =>
        index === 0 ? { parts: [{ reasoning: "Let me think", signature: "sealed" }, { text: "So." }] } : "Done.",
    })
    const { parts } = await ask(simulator)
    expect(parts[0]).toEqual({
      type: "reasoning",
      text: "Let me think",
      opaque: { id: "rs_sim_000000_0", encrypted_content: "sealed" },
    })
    const thought = { ...parts[0], origin: "openai:gpt-5.5" } as Extract<Message, { role: "assistant" }>["content"][0]
    const so = { type: "text", text: "So." } as const
    await ask(simulator, {}, { messages: [task, { role: "assistant", content: [thought, so, thought] }, task] })
    await ask(simulator, {}, { messages: [task, { role: "assistant", content: [thought] }, task] })
    const item = {
      type: "reasoning",
      id: "rs_sim_000000_0",
      encrypted_content: "sealed",
      summary: [{ type: "summary_text", text: "Let me think" }],
    }
    const said = (text: string) => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] })
    const inputs = simulator.requests.slice(1).map(({ body }) => (body as { input: JsonObject[] }).input.slice(1, -1))
    expect(inputs).toEqual([[item, said("So.")], [said("")]])
  })

  test("plain reasoning is sent back only to servers that require it", async () => {
    const thought = (field: string, origin: string): Message => ({
      role: "assistant",
      content: [
        { type: "reasoning", text: `as ${field}`, opaque: { field }, origin },
        { type: "text", text: "So." },
      ],
    })
    const own = "deepseek:deepseek-v4"
    const messages = [
      task,
      thought("reasoning_content", own),
      task,
      thought("reasoning", own),
      task,
      thought("reasoning_content", "other:model"),
      task,
    ]
    const options = { model: "deepseek-v4", provider: "deepseek", baseUrl: "https://api.deepseek.com" }
    const body = await bodyOf(options, { messages })
    expect((body.messages as JsonObject[]).filter(({ role }) => role === "assistant")).toEqual([
      { role: "assistant", content: "So.", reasoning_content: "as reasoning_content" },
      { role: "assistant", content: "So." },
      { role: "assistant", content: "So." },
    ])
  })
})
