import { SpanKind } from "@opentelemetry/api"
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http"
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node"
import { HttpResponse, http } from "msw"
import { setupServer } from "msw/node"
import nock from "nock"
import { afterEach, describe, expect, test, vi } from "vitest"
import * as longhaul from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { createSimulator } from "../src/testing/index.ts"

/** Tools that replace or watch `node:http` see the model calls of the default runtime for Node. */
const simulator = createSimulator({ script: () => "seen" })

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

describe.each(["http", "https"])("model calls over %s", (protocol) => {
  const baseUrl = `${protocol}://model.invalid`

  test("msw intercepts a model call", async () => {
    const server = setupServer(http.post(`${baseUrl}/v1/messages`, ({ request }) => simulator.fetch(request)))
    server.listen({ onUnhandledRequest: "error" })
    cleanups.push(() => server.close())
    expect(await runOnce(baseUrl)).toMatchObject({ status: "done", text: "seen" })
  })

  test("nock intercepts a model call, with its key", async () => {
    cleanups.push(() => nock.restore())
    if (!nock.isActive()) nock.activate()
    nock.disableNetConnect()
    cleanups.push(() => nock.enableNetConnect())
    const scope = nock(baseUrl, { reqheaders: { "x-api-key": "key" } })
      .post("/v1/messages")
      .reply(200, await answerText(), { "content-type": "text/event-stream" })
    expect(await runOnce(baseUrl)).toMatchObject({ status: "done", text: "seen" })
    scope.done()
  })
})

test("a call intercepted by msw does not reach the real server", async () => {
  const real = createSimulator({ script: () => "real" })
  const served = await longhaul.serve(real.fetch)
  cleanups.push(() => served.close())
  const server = setupServer(http.post(`${served.url}/v1/messages`, () => HttpResponse.error()))
  server.listen()
  cleanups.push(() => server.close())
  expect(await runOnce(served.url)).toMatchObject({ status: "failed", error: { code: "network" } })
  expect(real.requests.length).toBe(0)
})

test("a request without an msw handler reaches the real server", async () => {
  const real = await longhaul.serve(simulator.fetch)
  cleanups.push(() => real.close())
  const server = setupServer()
  server.listen({ onUnhandledRequest: "bypass" })
  cleanups.push(() => server.close())
  expect(await runOnce(real.url)).toMatchObject({ status: "done", text: "seen" })
})

test("OpenTelemetry's HTTP instrumentation creates a client span for a model call and propagates its context", async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  const instrumentation = new HttpInstrumentation({ disableIncomingRequestInstrumentation: true })
  instrumentation.setTracerProvider(provider)
  // As in a host, which starts its tracer before it loads anything else. No loader hook or `require` is needed.
  vi.resetModules()
  const fresh = await import("../src/hosts/node/index.ts")
  cleanups.push(async () => {
    instrumentation.disable()
    await provider.shutdown()
  })
  const heads: Headers[] = []
  const server = await longhaul.serve((request) => {
    heads.push(request.headers)
    return simulator.fetch(request)
  })
  cleanups.push(() => server.close())

  expect(await runOnce(server.url, fresh)).toMatchObject({ status: "done", text: "seen" })

  const [span, ...others] = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CLIENT)
  expect(others).toEqual([])
  expect(span?.attributes).toMatchObject({
    "http.request.method": "POST",
    "http.response.status_code": 200,
    "url.full": `${server.url}/v1/messages`,
  })
  expect(heads[0]?.get("traceparent")).toContain(span?.spanContext().spanId)
  expect(heads[0]?.get("x-api-key")).toBe("key")
})

async function runOnce(
  baseUrl: string,
  { anthropic, createRuntime, native }: typeof longhaul = longhaul,
): Promise<longhaul.RunResult> {
  const runtime = createRuntime({
    store: memoryStore(),
    model: anthropic({ model: "claude-sonnet-4-6", apiKey: "key", baseUrl }),
    backend: native({ retry: { attempts: 1 } }),
  })
  cleanups.push(() => runtime.close())
  return runtime.run({ task: "Say something." })
}

async function answerText(): Promise<string> {
  const body = { model: "claude-sonnet-4-6", max_tokens: 10, stream: true, messages: [{ role: "user", content: "hi" }] }
  const headers = { "content-type": "application/json", "x-api-key": "key", "anthropic-version": "2023-06-01" }
  const request = new Request("https://model.invalid/v1/messages", {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  })
  return (await simulator.fetch(request)).text()
}
