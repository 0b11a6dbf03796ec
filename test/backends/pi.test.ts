import { createServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { describe, expect, test, vi } from "vitest"
import { pi } from "../../src/backends/pi/index.ts"
import { unsupportedProviders } from "../../src/backends/pi/models.ts"
import { casesOf } from "../support/backend-cases.ts"
import { benchOf, openPlace } from "../support/backend-place.ts"
import { loadPi, placedPi } from "./pi-bench.ts"

const bench = benchOf(placedPi)

describe("pi", () => {
  test.each(casesOf(bench))("%s", async (_, each) => {
    await each.run(bench)
  })
})

/** The providers that Pi is promised to reach, a model of each, and where its server expects requests. */
const providers = [
  ["openai:gpt-5.5", "/v1"],
  ["google:gemini-2.5-pro", "/v1beta"],
  ["openrouter:anthropic/claude-sonnet-4.5", ""],
  ["xai:grok-4", "/v1"],
  ["groq:llama-3.3-70b-versatile", "/v1"],
  ["mistral:mistral-large-latest", ""],
  ["perplexity:sonar-pro", "/v1"],
  ["deepseek:deepseek-chat", "/v1"],
  ["ollama:llama3.2", "/v1"],
  ["llamacpp:qwen", "/v1"],
  ["glm:glm-4.6", "/v1"],
  ["vercel-ai-gateway:anthropic/claude-sonnet-4.5", ""],
  ["copilot:gpt-4.1", ""],
] as const

describe("providers of Pi", { tags: ["BK-09"] }, () => {
  test.each(providers)("%s sends a well-formed request", async (model, path) => {
    const place = await openPlace({ script: () => "Here." }, ({ url }) => ({
      backend: pi({ load: loadPi, baseUrl: `${url}${path}`, resolvePiApiKey: () => "key" }),
      model,
    }))
    const result = await place.runtime({ tools: [] }).run({ task: "Are you there?" })
    expect(
      place.simulator.requests.map(({ protocol }) => protocol),
      JSON.stringify([result.error, place.simulator.requests.map(({ path }) => path)]),
    ).not.toContain("unknown")
    expect(result).toMatchObject({ status: "done", text: "Here.", backend: "pi" })
    await place.close()
  })

  test("bedrock sends a well-formed request, over HTTP/2 as its service requires", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "id").stubEnv("AWS_SECRET_ACCESS_KEY", "key").stubEnv("AWS_REGION", "us-east-1")
    const server = createServer()
    const received = new Promise<{ readonly path: string; readonly body: unknown }>((resolve) => {
      server.on("stream", async (stream, headers) => {
        resolve({ path: String(headers[":path"]), body: JSON.parse(await text(stream)) })
        stream.respond({ ":status": 503 })
        stream.end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const place = await openPlace({ script: () => "" }, () => ({
      backend: pi({ load: loadPi, baseUrl: `http://127.0.0.1:${port}` }),
      model: "bedrock:anthropic.claude-sonnet-4-5",
    }))
    const runtime = place.runtime({ tools: [] })
    const running = runtime.run({ task: "Are you there?" })
    const { path, body } = await received
    expect(path).toBe("/model/anthropic.claude-sonnet-4-5/converse-stream")
    expect(body).toMatchObject({
      messages: [{ role: "user", content: expect.arrayContaining([{ text: "Are you there?" }]) }],
    })
    await runtime.close()
    expect((await running).status).not.toBe("done")
    server.close()
    await place.close()
    vi.unstubAllEnvs()
  })

  test.each(Object.keys(unsupportedProviders))("%s is refused with the reason", async (provider) => {
    const place = await openPlace({ script: () => "" }, () => ({
      backend: pi({ load: loadPi }),
      model: `${provider}:any`,
    }))
    const result = await place.runtime({ tools: [] }).run({ task: "Are you there?" })
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "config_invalid", fix: unsupportedProviders[provider] },
    })
    await place.close()
  })
})
