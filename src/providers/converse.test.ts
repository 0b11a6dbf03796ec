import { expect, test } from "vitest"
import { LonghaulError } from "../contract/error.ts"
import type { Model } from "../contract/provider.ts"
import { fetchTransport } from "../lib/fetch-transport.ts"
import { anthropic } from "./anthropic/index.ts"
import { google } from "./google/index.ts"
import { openai } from "./openai/index.ts"

const apiKey = "sk-recognisable-0123456789"
const quoting = (async () =>
  Response.json(
    { error: { type: "authentication_error", message: `Incorrect API key provided: ${apiKey}.` } },
    { status: 401 },
  )) as typeof fetch

test.each<[string, (options: { model: string; apiKey: string; fetch: typeof fetch }) => Model]>([
  ["anthropic", anthropic],
  ["openai", openai],
  ["google", google],
])("%s: a key that the server quotes is not told on", async (_, create) => {
  const conversation = create({ model: "m", apiKey, fetch: quoting }).converse({
    tools: [],
    transport: fetchTransport(),
  })
  const error = await conversation
    .call([{ role: "user", content: [{ type: "text", text: "Hi" }] }], {}, new AbortController().signal)
    .catch((caught: unknown) => caught)
  expect(LonghaulError.is(error) && error.toJSON()).toMatchObject({
    code: "auth",
    message: expect.stringContaining("Incorrect"),
  })
  expect(JSON.stringify(error)).not.toContain("recognisable")
  expect(String((error as Error).stack)).not.toContain("recognisable")
})
