import { afterEach, describe, expect, test } from "vitest"
import { native } from "../backends/native/index.ts"
import type { Model } from "../contract/provider.ts"
import { createRuntime, defineTool } from "../index.ts"
import { fetchTransport } from "../lib/fetch-transport.ts"
import { anthropic } from "./anthropic/index.ts"
import { google } from "./google/index.ts"
import { openai } from "./openai/index.ts"

const encoder = new TextEncoder()
const settings = { model: "m", apiKey: "key" }

const anthropicText = [
  { type: "message_start", message: { model: "m", usage: { input_tokens: 3 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
]
const chatText = [
  { model: "m", choices: [{ delta: { content: "Hello." } }] },
  { choices: [{ delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 3, completion_tokens: 2 } },
]
const responsesText = [
  { type: "response.created", response: { model: "m" } },
  { type: "response.output_item.added", output_index: 0, item: { type: "message" } },
  { type: "response.output_text.delta", output_index: 0, delta: "Hello." },
  { type: "response.output_item.done", output_index: 0, item: { type: "message" } },
  { type: "response.completed", response: { model: "m", usage: { input_tokens: 3, output_tokens: 2 } } },
]
const googleText = [{ candidates: [{ content: { parts: [{ text: "Hello." }] }, finishReason: "STOP" }] }]

const sse = (events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")

const wires: readonly { name: string; stream: string; model(more?: object): Model }[] = [
  { name: "anthropic", stream: sse(anthropicText), model: (more) => anthropic({ ...settings, ...more }) },
  {
    name: "openai chat",
    stream: `${sse(chatText)}data: [DONE]\n\n`,
    model: (more) => openai({ ...settings, api: "chat", ...more }),
  },
  { name: "openai responses", stream: sse(responsesText), model: (more) => openai({ ...settings, ...more }) },
  { name: "google", stream: sse(googleText), model: (more) => google({ ...settings, ...more }) },
]

interface Served {
  readonly status?: number
  readonly type?: string
  /** Texts with a pause of 20 ms between them; `open`: the body does not end. */
  readonly body: readonly string[]
  readonly open?: boolean
}

const opened: ReadableStreamDefaultController[] = []
afterEach(() => {
  for (const controller of opened.splice(0)) {
    try {
      controller.close()
    } catch {
      // It was already closed.
    }
  }
})

/** A server that always sends the same; counts its requests. */
function serving({ status = 200, type = "text/event-stream", body, open = false }: Served) {
  const requests: Request[] = []
  const send: typeof fetch = async (input, init) => {
    requests.push(new Request(input, init))
    const stream = new ReadableStream({
      async start(controller) {
        opened.push(controller)
        init?.signal?.addEventListener("abort", () => {
          try {
            controller.error(new Error("aborted"))
          } catch {
            // It has ended.
          }
        })
        for (const [index, text] of body.entries()) {
          if (index > 0) await new Promise((resolve) => setTimeout(resolve, 20))
          controller.enqueue(encoder.encode(text))
        }
        if (!open) controller.close()
      },
    })
    return new Response(stream, { status, headers: { "content-type": type } })
  }
  return { requests, transport: fetchTransport(send) }
}

async function ask(model: Model, served: Served, tools: Parameters<typeof createRuntime>[0] = {}) {
  const { requests, transport } = serving(served)
  const result = await createRuntime({ model, transport, backend: native({ retry: { firstMs: 1 } }), ...tools }).run({
    task: "Hi",
    limits: { timeMs: 20_000 },
  })
  return { result, asked: requests.length }
}

const done = { status: "done", text: "Hello." }

describe.each(wires)("$name", ({ name, stream, model }) => {
  test("a complete answer whose body stays open counts, with one request", async () => {
    const { result, asked } = await ask(model({ deadlines: { idleMs: 3_000 } }), { body: [stream], open: true })
    expect(result).toMatchObject(done)
    expect(asked).toBe(1)
  })

  test("a complete answer without its last line ends counts, with one request", async () => {
    for (const body of [stream.trimEnd(), `${stream.trimEnd()}\n`, stream.replaceAll("\n", "\r\n").trimEnd()]) {
      const { result, asked } = await ask(model(), { body: [body] })
      expect(result).toMatchObject(done)
      expect(asked).toBe(1)
    }
  })

  test("a JSON error with status 200 keeps the provider's message", async () => {
    const error = { error: { type: "invalid_request_error", status: "INVALID_ARGUMENT", message: "No such voice." } }
    for (const type of ["application/json", "application/problem+json; charset=utf-8"]) {
      const { result } = await ask(model(), { type, body: [JSON.stringify(error)] })
      expect(result.error?.message).toContain("No such voice.")
    }
  })

  test("comments and pings alone do not keep a dead stream alive", async () => {
    const ping = name === "anthropic" ? 'event: ping\ndata: {"type":"ping"}\n\n' : ": ping\n\n"
    const { result } = await ask(
      model({ deadlines: { idleMs: 40, firstByteMs: 40 } }),
      {
        body: Array.from({ length: 400 }, () => ping),
        open: true,
      },
      { backend: native({ retry: { attempts: 1 } }) },
    )
    expect(result).toMatchObject({ status: "failed", error: { code: "stream_stalled" } })
  })
})

test("pings keep a slow stream alive for longer than the idle deadline", async () => {
  // Far apart from the 20 ms between two pieces: a busy machine delays those.
  const pings = Array.from({ length: 75 }, () => ": ping\n\n")
  const { result, asked } = await ask(openai({ ...settings, api: "chat", deadlines: { idleMs: 1_000 } }), {
    body: [...pings, sse(chatText)],
  })
  expect(result).toMatchObject(done)
  expect(asked).toBe(1)
})

test("an endless line is rejected before it fills the memory", async () => {
  const { SseCutter } = await import("./sse.ts")
  const cutter = new SseCutter({ event: () => {} })
  const chunk = new Uint8Array(8 * 1024 * 1024).fill(97)
  const flood = () => {
    for (let sent = 0; sent < 64; sent++) cutter.push(chunk)
  }
  expect(flood).toThrow(expect.objectContaining({ code: "stream_malformed" }))
  const lines = new SseCutter({ event: () => {} })
  const line = encoder.encode(`data: ${"x".repeat(8 * 1024 * 1024)}\n`)
  expect(() => {
    for (let sent = 0; sent < 64; sent++) lines.push(line)
  }).toThrow(expect.objectContaining({ code: "stream_malformed" }))
})

describe("calls in broken streams", () => {
  const ran: unknown[] = []
  const tools = [
    defineTool({
      name: "pay",
      description: "Pays.",
      inputSchema: { type: "object" },
      run: (args) => {
        ran.push(args)
        return "paid"
      },
    }),
  ]
  afterEach(() => {
    ran.length = 0
  })

  test("a Gemini stream repeated in one body runs its call once", async () => {
    const call = (id: object) => [
      {
        candidates: [
          { content: { parts: [{ functionCall: { ...id, name: "pay", args: { usd: 5 } } }] }, finishReason: "STOP" },
        ],
      },
    ]
    for (const id of [{ id: "c1" }, {}]) {
      ran.length = 0
      const { result } = await ask(
        google(settings),
        { body: [sse(call(id)), sse(call(id))] },
        { tools, limits: { turns: 1 } },
      )
      expect(ran).toEqual([{ usd: 5 }])
      expect(result.toolCalls).toHaveLength(1)
    }
  })

  test("a Gemini answer with two calls under one id runs neither", async () => {
    const part = { functionCall: { id: "c1", name: "pay", args: { usd: 5 } } }
    const body = sse([{ candidates: [{ content: { parts: [part, part] }, finishReason: "STOP" }] }])
    const { result } = await ask(google(settings), { body: [body] }, { tools })
    expect(result).toMatchObject({ status: "failed", error: { code: "stream_malformed" } })
    expect(ran).toEqual([])
  })
})

test("the content of an unknown Anthropic block does not become text", async () => {
  const block = { type: "server_tool_use", id: "s1", name: "web_search", input: {} }
  const delta = (text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json: text },
  })
  const stream = sse([
    anthropicText[0] as object,
    { type: "content_block_start", index: 0, content_block: block },
    delta('{"query":'),
    delta('"weather"}'),
    { type: "content_block_stop", index: 0 },
    ...anthropicText.slice(1).map((event) => ("index" in event ? { ...event, index: 1 } : event)),
  ])
  const { result } = await ask(anthropic(settings), { body: [stream] })
  expect(result).toMatchObject(done)
})

test.each([
  [401, "auth"],
  [403, "auth"],
  [404, "model_not_found"],
  [400, "invalid_request"],
])("an Anthropic api_error with status %s is %s, and is not retried", async (status, code) => {
  const body = JSON.stringify({ type: "error", error: { type: "api_error", message: "Nope." } })
  const { result, asked } = await ask(anthropic(settings), { status, type: "application/json", body: [body] })
  expect(result.error).toMatchObject({ code, retryable: false })
  expect(asked).toBe(1)
})
