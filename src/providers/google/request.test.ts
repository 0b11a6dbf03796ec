import { describe, expect, test } from "vitest"
import type { Json } from "../../contract/json.ts"
import type { Message } from "../../contract/message.ts"
import type { Answer, ConversationSetup } from "../../contract/provider.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { createSimulator } from "../../testing/index.ts"
import { type GoogleOptions, google } from "./index.ts"

const task: Message = { role: "user", content: [{ type: "text", text: "Say it" }] }

interface Asked extends Partial<Omit<ConversationSetup, "transport">> {
  readonly options?: Partial<GoogleOptions>
  readonly messages?: readonly Message[]
}

function ask(fetch: typeof globalThis.fetch, { options, messages = [task], ...setup }: Asked = {}) {
  const model = google({ model: "gemini-2.5-flash", apiKey: "secret-key", fetch, ...options })
  const conversation = model.converse({ tools: [], ...setup, transport: fetchTransport() })
  return conversation.call(messages, {}, new AbortController().signal)
}

/** A server that streams exactly these chunks. */
function streams(...chunks: readonly Json[]): typeof fetch {
  const body = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("")
  return async () => new Response(body)
}

const says = (...parts: readonly Json[]): Json => ({ candidates: [{ content: { parts, role: "model" }, index: 0 }] })
const stop: Json = { candidates: [{ finishReason: "STOP", index: 0 }] }

const simulate = (answer: string) => createSimulator({ script: () => answer })

/** An answer as it is sent back to the model in the next request. */
function handBack({ parts }: Answer, origin: string): readonly Message[] {
  const content = parts.map((part, index) => {
    if (part.type === "text") return part
    if (part.type === "reasoning") return { ...part, origin }
    const { wireId, name, args, opaque } = part
    const sealed = opaque === undefined ? {} : { opaque, origin }
    return { type: "tool-call", callId: `1.${index}`, wireId, name, args, ...sealed } as const
  })
  const results = content.flatMap((part) =>
    part.type === "tool-call"
      ? [{ type: "tool-result", callId: part.callId, status: "ok", output: [{ type: "text", text: "done" }] } as const]
      : [],
  )
  const said: Message = { role: "assistant", content }
  return [task, said, ...(results.length > 0 ? [{ role: "tool", content: results } as const] : [task])]
}

describe("thought signatures", () => {
  const call = { functionCall: { name: "Read", args: {} }, thoughtSignature: "s-call" }
  const answers: readonly [what: string, chunks: readonly Json[], parts: readonly Json[]][] = [
    [
      "of a call",
      [says(call)],
      [{ functionCall: { id: "call_0", name: "Read", args: {} }, thoughtSignature: "s-call" }],
    ],
    [
      "of the first of two calls",
      [says(call, { functionCall: { name: "List", args: {} } })],
      [
        { functionCall: { id: "call_0", name: "Read", args: {} }, thoughtSignature: "s-call" },
        { functionCall: { id: "call_1", name: "List", args: {} } },
      ],
    ],
    [
      "of a thought",
      [says({ text: "hm", thought: true, thoughtSignature: "s-1" }), says({ text: "Hi" })],
      [{ text: "hm", thought: true, thoughtSignature: "s-1" }, { text: "Hi" }],
    ],
    [
      "of a text, in its last words",
      [says({ text: "Hi " }), says({ text: "you", thoughtSignature: "s-2" })],
      [{ text: "Hi you", thoughtSignature: "s-2" }],
    ],
    [
      "of a text, after its last words",
      [says({ text: "Hi" }), says({ text: "", thoughtSignature: "s-3" })],
      [{ text: "Hi", thoughtSignature: "s-3" }],
    ],
    [
      "of a text that goes on",
      [says({ text: "A", thoughtSignature: "s-4" }), says({ text: "B" })],
      [{ text: "A", thoughtSignature: "s-4" }, { text: "B" }],
    ],
    [
      "of nothing else",
      [says({ functionCall: { name: "Read", args: {} } }), says({ text: "", thoughtSignature: "s-5" })],
      [{ functionCall: { id: "call_0", name: "Read", args: {} } }, { text: "", thoughtSignature: "s-5" }],
    ],
  ]

  test.each(answers)("%s is sent back on the same part", async (_, chunks, parts) => {
    const answer = await ask(streams(...chunks, stop))
    expect(await modelParts(answer, "google:gemini-2.5-flash")).toEqual(parts)
  })

  test.each(answers)("%s is sent to no other model", async (_, chunks) => {
    const answer = await ask(streams(...chunks, stop))
    expect(JSON.stringify(await modelParts(answer, "google:gemini-2.5-pro"))).not.toContain("s-")
  })

  test("calls of another model are marked if signatures are required, once per turn", async () => {
    const answer = await ask(streams(says(call, { functionCall: { name: "List", args: {} } }), stop))
    expect(await modelParts(answer, "openai:gpt", "gemini-3-pro-preview")).toEqual([
      { functionCall: expect.anything(), thoughtSignature: "skip_thought_signature_validator" },
      { functionCall: expect.anything() },
    ])
  })

  test("a message with only another model's thoughts still has its turn", async () => {
    const answer = await ask(streams(says({ text: "hm", thought: true, thoughtSignature: "s-1" }), stop))
    expect(await modelParts(answer, "other:model")).toEqual([{ text: expect.any(String) }])
  })

  async function modelParts(answer: Answer, origin: string, model = "gemini-2.5-flash"): Promise<unknown> {
    const { fetch, requests } = simulate("ok")
    await ask(fetch, { messages: handBack(answer, origin), options: { model } })
    const body = requests[0]?.body as { contents: { parts: unknown }[] }
    return body.contents[1]?.parts
  }
})

describe("the Gemini request", () => {
  test("the key is sent in a header, never in the URL, and custom headers win", async () => {
    const seen: { url: string; headers: Headers }[] = []
    const { fetch } = simulate("ok")
    const watching: typeof globalThis.fetch = (input, init) => {
      seen.push({ url: String(input), headers: new Headers(init?.headers) })
      return fetch(String(input), init)
    }
    await ask(watching, { options: { baseUrl: "http://proxy/", headers: { "x-tenant": "acme" } } })
    expect(seen[0]?.url).toBe("http://proxy/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse")
    expect(seen[0]?.headers.get("x-goog-api-key")).toBe("secret-key")
    expect(seen[0]?.headers.get("x-tenant")).toBe("acme")
  })

  test("constant parts of the request come first, the contents last", async () => {
    const { fetch, requests } = simulate("ok")
    await ask(fetch, {
      system: "Be brief",
      tools: [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }],
      temperature: 0.2,
      maxOutputTokens: 100,
      options: { topP: 0.9, topK: 5, seed: 7, stopSequences: ["HALT"], thinkingTokens: 2000 },
    })
    expect(requests[0]?.body).toEqual({
      systemInstruction: { parts: [{ text: "Be brief" }] },
      tools: [
        { functionDeclarations: [{ name: "Read", description: "Reads", parametersJsonSchema: { type: "object" } }] },
      ],
      generationConfig: {
        temperature: 0.2,
        topP: 0.9,
        topK: 5,
        // Thinking counts as output, and leaves room for the answer.
        maxOutputTokens: 3024,
        stopSequences: ["HALT"],
        seed: 7,
        thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 },
      },
      contents: [{ role: "user", parts: [{ text: "Say it" }] }],
    })
    expect(Object.keys(requests[0]?.body as object).at(-1)).toBe("contents")
  })

  test.each([
    ["gemini-2.5-flash", "minimal", { includeThoughts: false, thinkingBudget: 0 }],
    ["gemini-2.5-flash", "low", { includeThoughts: true, thinkingBudget: 2048 }],
    ["gemini-2.5-flash", "max", { includeThoughts: true, thinkingBudget: 24_576 }],
    ["gemini-2.5-pro", "minimal", { includeThoughts: true, thinkingBudget: 128 }],
    ["gemini-2.5-pro", "max", { includeThoughts: true, thinkingBudget: 32_768 }],
    ["gemini-flash-latest", "medium", { includeThoughts: true, thinkingBudget: 8192 }],
    ["gemini-3-pro-preview", "minimal", { includeThoughts: true, thinkingLevel: "low" }],
    ["gemini-3-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3.1-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "medium" }],
    ["gemini-3.8-flash", "max", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-2.0-flash", "high", undefined],
    ["gemma-3-27b-it", "high", undefined],
  ] as const)("%s with effort %s is sent as %o", async (model, effort, thinkingConfig) => {
    const { fetch, requests } = simulate("ok")
    await ask(fetch, { effort, options: { model } })
    const { generationConfig } = (requests[0]?.body ?? {}) as { generationConfig: { thinkingConfig?: object } }
    expect(generationConfig.thinkingConfig).toEqual(thinkingConfig)
  })

  test.each([
    ["gemini-2.5-flash", false],
    ["gemini-3-pro-preview", true],
  ])("%s supports a schema together with tools: %s", async (model, isHeld) => {
    const { fetch, requests } = simulate("{}")
    const tools = [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }]
    await ask(fetch, { tools, outputSchema: { type: "object", properties: {} }, options: { model } })
    expect(requests[0]?.outputSchema !== undefined).toBe(isHeld)
    expect(google({ model }).enforcesSchema).toBe(isHeld)
  })
})
