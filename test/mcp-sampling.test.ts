import { afterEach, describe, expect, test } from "vitest"
import { LonghaulError } from "../src/contract/error.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import { DEFAULT_SAMPLING_MAX_DEPTH, type McpOptions, mcp } from "../src/extensions/mcp/index.ts"
import { serverRequests } from "../src/extensions/mcp/server-requests.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { serveScene } from "./mcp-client/http-server.mjs"

const toClose: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of toClose.splice(0)) await close()
})

type Handler = (request: { readonly params: object }) => Promise<unknown>

/** Calls the handlers of a server's requests as the protocol layer does. */
async function sampled(
  steps: readonly ScriptedStep[],
  options: Partial<McpOptions>,
  config: RuntimeConfig = {},
  times: number | "one after another" = 1,
) {
  const answers: unknown[] = []
  const model = scriptedModel(["first", ...steps])
  const runtime = createRuntime({
    model,
    store: memoryStore(),
    resolvePricing: () => ({ input: 1, output: 2 }),
    extensions: [
      {
        name: "probe",
        async open(run) {
          const server = { url: "http://127.0.0.1:1/", allowSampling: true }
          const handlers = new Map<string, Handler>()
          // As much of a client as the handlers need.
          const client = { setRequestHandler: (method: string, handler: Handler) => void handlers.set(method, handler) }
          serverRequests(run, "scene", server, options).register(client as never)
          const ask = handlers.get("sampling/createMessage")
          const params = {
            maxTokens: 50,
            systemPrompt: "Be brief.",
            messages: [{ role: "user", content: { type: "text", text: "Hi" } }],
          }
          const askOnce = () => ask?.({ params }).catch((error: Error) => error.message)
          if (times === "one after another") for (const _ of ["first", ...steps].slice(1)) answers.push(await askOnce())
          else answers.push(...(await Promise.all(Array.from({ length: times }, askOnce))))
          return {}
        },
      },
    ],
    ...config,
  })
  const result = await runtime.run({ task: "x", runId: "r" })
  const records = []
  for await (const record of runtime.events("r")) records.push(record)
  return { answers, result, records, model }
}

describe("a server that may sample", () => {
  test("a server gets an answer of the run's own model, which counts for the run", { tags: ["MCP-06"] }, async () => {
    // The first step belongs to the sampling request: the run has not begun its first turn.
    const { answers, records, result } = await sampled(["second"], {})
    expect(answers).toMatchObject([{ role: "assistant", content: { type: "text", text: "first" } }])
    expect(result).toMatchObject({ status: "done", text: "second" })
    expect(records.find(({ type }) => type === "metering")).toMatchObject({ source: "mcp:scene" })
    const [turn] = records.flatMap((record) => (record.type === "usage" ? [record.usage.inputTokens ?? 0] : []))
    expect(result.usage.inputTokens).toBeGreaterThan(turn ?? 0)
  })

  test("a server gets the answer of a handler, which knows server, depth and run", { tags: ["MCP-06"] }, async () => {
    const contexts: unknown[] = []
    const { answers } = await sampled([], {
      samplingHandler: (_, context) => {
        contexts.push(context)
        return { model: "m", text: "handled" }
      },
    })
    expect(contexts).toEqual([{ serverName: "scene", depth: 1, runId: "r" }])
    expect(answers).toMatchObject([{ content: { text: "handled" } }])
  })

  test("a server is refused more than three nested requests", { tags: ["MCP-07"] }, async () => {
    expect(DEFAULT_SAMPLING_MAX_DEPTH).toBe(3)
    const { answers } = await sampled(["b", "c", "d"], {}, {}, 5)
    expect(answers.filter((answer) => typeof answer === "object")).toHaveLength(3)
    expect(answers.filter((answer) => typeof answer === "string")).toEqual([
      expect.stringContaining("more than 3 nested requests"),
      expect.stringContaining("more than 3 nested requests"),
    ])
  })

  test("a server gets as many answers as it wants, one after another: an answered or failed request is not nested", {
    tags: ["MCP-07"],
  }, async () => {
    const fail = { fail: new LonghaulError("invalid_request", "No.") }
    const { answers } = await sampled(["b", "c", fail, fail, fail, fail, "h", "last"], {}, {}, "one after another")
    const failed = expect.stringContaining("No.")
    const answered = (text: string) => expect.objectContaining({ content: { type: "text", text } })
    expect(answers).toEqual([
      answered("first"),
      answered("b"),
      answered("c"),
      failed,
      failed,
      failed,
      failed,
      answered("h"),
    ])
  })

  test("a server is refused samples once the run's budget is spent", async () => {
    const { answers, result } = await sampled([], {}, { limits: { tokens: 1 } }, 2)
    expect(answers.some((answer) => typeof answer === "string" && /budget/i.test(answer))).toBe(true)
    expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
  })
})

test.each([
  ["nothing", {}, {}, []],
  ["sampling, if it may sample", { allowSampling: true }, {}, ["sampling"]],
  ["elicitation, if a person can be asked", {}, { elicit: () => ({ action: "decline" }) as const }, ["elicitation"]],
])("a server is told of %s", { tags: ["MCP-05"] }, async (_, server, options, declared) => {
  const served = await serveScene()
  toClose.push(() => served.close())
  const extension = mcp({ servers: { scene: { url: served.url, ...server } }, ...options })
  await createRuntime({ model: scriptedModel(["ok"]), extensions: [extension] }).run({ task: "x" })
  const { message } = served.requests.find((request) => request.message?.method === "initialize") ?? {}
  expect(Object.keys(message?.params.capabilities ?? {})).toEqual(declared)
})
