import { expect, test } from "vitest"
import { LonghaulError } from "../contract/error.ts"
import type { Message } from "../contract/message.ts"
import type { Model } from "../contract/provider.ts"
import { fetchTransport } from "../lib/fetch-transport.ts"
import { anthropic } from "./anthropic/index.ts"
import { google } from "./google/index.ts"
import { openai } from "./openai/index.ts"

const apiKey = "sk-recognisable-0123456789"

const providers: readonly [string, (options: { model: string; apiKey: string; fetch: typeof fetch }) => Model][] = [
  ["anthropic", anthropic],
  ["openai", openai],
  ["google", google],
]

/** The error of one call whose request gets this response. */
async function errorOf(create: (typeof providers)[number][1], answer: () => Response): Promise<LonghaulError> {
  const conversation = create({ model: "m", apiKey, fetch: async () => answer() }).converse({
    tools: [],
    transport: fetchTransport(),
  })
  const error = await conversation
    .call([{ role: "user", content: [{ type: "text", text: "Hi" }] }], {}, new AbortController().signal)
    .catch((caught: unknown) => caught)
  if (!LonghaulError.is(error)) throw error
  return error
}

test.each(providers)("%s: a key quoted by the server is not passed on", async (_, create) => {
  const message = `Incorrect API key provided: ${apiKey}.`
  const body = { error: { type: "authentication_error", message } }
  const error = await errorOf(create, () => Response.json(body, { status: 401 }))
  expect(error.toJSON()).toMatchObject({ code: "auth", message: expect.stringContaining("Incorrect") })
  expect(JSON.stringify(error)).not.toContain("recognisable")
  expect(String(error.stack)).not.toContain("recognisable")
})

test.each(providers)("%s: every echo of a key in an error is redacted, not only the first", async (_, create) => {
  const message = `Key ${apiKey} is not known. Sent: "Bearer ${apiKey}". Hint: ${apiKey}${apiKey}.`
  const error = await errorOf(create, () => Response.json({ error: { message } }, { status: 401 }))
  expect(error.message).toContain('Key … is not known. Sent: "Bearer …". Hint: …….')
  expect(JSON.stringify(error)).not.toContain("recognisable")
})

test.each(providers)("%s: a retry-after-ms header takes precedence over retry-after", async (_, create) => {
  const refusal = (headers: Record<string, string>) =>
    errorOf(create, () => Response.json({ error: { message: "Slow down." } }, { status: 429, headers }))
  expect(await refusal({ "retry-after-ms": "1250", "retry-after": "7" })).toMatchObject({ retryAfterMs: 1250 })
  expect(await refusal({ "retry-after-ms": "1250" })).toMatchObject({ code: "rate_limited", retryAfterMs: 1250 })
  expect(await refusal({ "retry-after-ms": "soon", "retry-after": "7" })).toMatchObject({ retryAfterMs: 7000 })
})

test("a key with stray characters is config_invalid before any request", () => {
  for (const create of [anthropic, openai, google]) {
    const model = create({ model: "m", apiKey: "sk-0123…" })
    expect(() => model.converse({ tools: [], transport: fetchTransport() })).toThrow(/headers cannot contain/)
  }
})

test("the maximum answer size is reported including thinking, and never above the requested limit without it", () => {
  const limit = (model: Model, setup: object) =>
    model.converse({ tools: [], transport: fetchTransport(), ...setup }).maxOutputTokens
  const claude = anthropic({ model: "claude-sonnet-4-5" })
  expect(limit(claude, { maxOutputTokens: 200 })).toBe(200)
  expect(limit(claude, { maxOutputTokens: 200, effort: "high" })).toBe(16_384 + 1024)
  const gemini = google({ model: "gemini-2.5-flash" })
  expect(limit(gemini, { maxOutputTokens: 200 })).toBe(200)
  expect(limit(gemini, { maxOutputTokens: 200, effort: "high" })).toBe(16_384 + 1024)
})

test("a custom fetch may keep the bodies it receives", async () => {
  const bodies: Uint8Array[] = []
  const keeping: typeof fetch = async (_url, init) => {
    bodies.push(init?.body as Uint8Array)
    return new Response("", { status: 500 })
  }
  const conversation = anthropic({ model: "m", apiKey, fetch: keeping }).converse({
    tools: [],
    transport: fetchTransport(),
  })
  const messages: Message[] = []
  for (let turn = 0; turn < 8; turn++) {
    messages.push({ role: turn % 2 === 0 ? "user" : "assistant", content: [{ type: "text", text: "x".repeat(900) }] })
    await conversation.call(messages, {}, new AbortController().signal).catch(() => {})
  }
  const sent = bodies.map((body) => JSON.parse(new TextDecoder().decode(body)).messages.length)
  expect(sent).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})
