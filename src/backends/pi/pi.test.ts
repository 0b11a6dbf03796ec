import { expect, test } from "vitest"
import {
  allowEverything,
  hostOf,
  openingRequest,
  RecordingHost,
  ScriptedAgent,
} from "../../../test/support/scripted-agent.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import { createRuntime } from "../../index.ts"
import { scriptedModel } from "../../testing/index.ts"
import { pi } from "./index.ts"
import { piModel } from "./models.ts"
import type { PiAgentOptions, PiModel, PiModules } from "./shapes.ts"
import { toFailure, toPiContent, toPiMessages, toUsage } from "./translate.ts"

const model: PiModel = {
  id: "m",
  name: "m",
  api: "openai-codex-responses",
  provider: "openai-codex",
  baseUrl: "https://example.com",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1000,
  maxTokens: 100,
}

const env = hostOf(new ScriptedAgent({}))

/** Pi's modules with an agent that only keeps its options. */
function modules(seen: PiAgentOptions[] = []): PiModules {
  class Agent {
    readonly state = { messages: [] }
    constructor(options: PiAgentOptions) {
      seen.push(options)
    }
    subscribe() {
      return () => {}
    }
    steer() {}
    abort() {}
    async prompt() {}
    async continue() {}
  }
  const getModel = (provider: string, id: string) => (provider === "none" ? undefined : { ...model, provider, id })
  const getModels = (provider: string) => (provider === "openai" ? [{ ...model, provider }] : [])
  return {
    agent: { Agent },
    ai: { getModel, getModels, streamSimple: () => ({ result: () => Promise.reject(new Error("not used")) }) },
  }
}

test("the transport for Codex models is passed on to Pi, and only for those", { tags: ["BK-11"] }, async () => {
  const seen: PiAgentOptions[] = []
  const backend = pi({ load: async () => modules(seen), piCodexTransport: "websocket" })
  const runtime = createRuntime({ backend })
  await runtime.run({ task: "x", model: "openai-codex:gpt-5.5" })
  await runtime.run({ task: "x", model: "openai:gpt-5.5" })
  // A request that fails is made again.
  expect([...new Set(seen.map(({ transport }) => transport))]).toEqual(["websocket", undefined])
})

test("the host's function provides keys by provider; without one the environment does", {
  tags: ["HOST-03"],
}, async () => {
  const seen: PiAgentOptions[] = []
  const asked: string[] = []
  const resolvePiApiKey = async (provider: string) => {
    asked.push(provider)
    return provider === "openai" ? "from the host" : undefined
  }
  const runtime = createRuntime({ backend: pi({ load: async () => modules(seen), resolvePiApiKey }) })
  await runtime.run({ task: "x", model: "openai:gpt-5.5" })
  expect(await seen[0]?.getApiKey("openai")).toBe("from the host")
  expect(await seen[0]?.getApiKey("groq")).toBeUndefined()
  expect(asked).toEqual(["openai", "groq"])
})

test("without Pi's packages the run fails as backend_missing, with the command that installs them", async () => {
  const backend = pi({ load: () => Promise.reject(new Error("Cannot find package")) })
  expect(await createRuntime({ backend }).run({ task: "x", model: "openai:gpt-5.5" })).toMatchObject({
    status: "failed",
    error: { code: "backend_missing", fix: expect.stringContaining("npm install @earendil-works/pi-ai") },
  })
})

test("a failure of the host's own loader reaches the caller as it is", async () => {
  const failure = new LonghaulError("config_invalid", "This host has no Pi.", { fix: "Use another host." })
  const backend = pi({ load: () => Promise.reject(failure) })
  await expect(backend.open(openingRequest, env)).rejects.toBe(failure)
  expect(await backend.probe(env)).toMatchObject({ found: false, failure: { code: "config_invalid" } })
})

test("a stored session is lost, and Pi is not loaded for it", async () => {
  let loaded = 0
  const load = async () => {
    loaded++
    return modules()
  }
  const ref = { backend: "pi", version: "0.87", id: "s1", cwd: "/project", resumable: true }
  const opening = pi({ load }).open({ ...openingRequest, from: { kind: "session", ref, turns: 1 } }, env)
  await expect(opening).rejects.toMatchObject({ code: "session_lost" })
  expect(loaded).toBe(0)
})

test("a model that is given as a value is Pi's model of the same provider and name", async () => {
  const seen: PiAgentOptions[] = []
  const session = await pi({ load: async () => modules(seen) }).open(
    { ...openingRequest, model: { ...scriptedModel([]), provider: "groq", id: "gpt-oss" } },
    env,
  )
  await session.run({ kind: "continue", answers: [] }, new RecordingHost(allowEverything))
  expect(seen.map(({ initialState }) => initialState.model)).toEqual([{ ...model, provider: "groq", id: "gpt-oss" }])
})

test.each([
  ["gpt-5.5", "is not a model of Pi"],
  ["none:gpt", "has no provider"],
  ["gemini-cli:x", "has no provider"],
])("the model %s is refused with a fix", (name, message) => {
  const find = () => piModel(modules(), name, undefined)
  expect(find).toThrow(expect.objectContaining({ code: "config_invalid", message: expect.stringContaining(message) }))
})

test.each([
  [429, "rate_limited", true],
  [401, "auth", false],
  [403, "auth", false],
  [402, "billing", false],
  [404, "model_not_found", false],
  [413, "context_overflow", false],
  [500, "provider_error", true],
  [503, "overloaded", true],
  [529, "overloaded", true],
  [400, "invalid_request", false],
] as const)("a response of %d fails as %s", (status, code, retryable) => {
  expect(toFailure("It failed.", status)).toMatchObject({ code, retryable, message: "It failed." })
  expect(toFailure(`${status} It failed.`, undefined)).toMatchObject({ code })
})

test("a failure without a response is network, and one without a key is auth", () => {
  expect(toFailure("terminated", undefined).code).toBe("network")
  expect(toFailure("No API key for provider", undefined)).toMatchObject({ code: "auth", fix: expect.any(String) })
})

test("reasoning goes back only to the model that wrote it, and results carry the name of their tool", () => {
  const messages: readonly Message[] = [
    { role: "user", content: [{ type: "text", text: "Go." }] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "mine", opaque: "signature", origin: "pi:openai-codex:m" },
        { type: "reasoning", text: "another's", opaque: "signature", origin: "anthropic:claude" },
        { type: "tool-call", callId: "1.2", wireId: "call_9", name: "send", args: { to: "Ada" } },
      ],
    },
    { role: "tool", content: [{ type: "tool-result", callId: "1.2", wireId: "call_9", status: "error", output: [] }] },
  ]
  expect(toPiMessages(messages, model)).toMatchObject([
    { role: "user" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "mine", thinkingSignature: "signature" },
        { type: "toolCall", id: "call_9", name: "send", arguments: { to: "Ada" } },
      ],
    },
    { role: "toolResult", toolCallId: "call_9", toolName: "send", isError: true },
  ])
})

test("an image reaches Pi as an image, and a document by its type", () => {
  const image = { type: "image", mediaType: "image/png", data: "aGk=" } as const
  const document = { type: "file", mediaType: "application/pdf", data: "aGk=" } as const
  expect(toPiContent([image, document])).toEqual([
    { type: "image", mimeType: "image/png", data: "aGk=" },
    { type: "text", text: "[A file of type application/pdf that this model cannot read.]" },
  ])
})

test("a model keeps its own address unless another one is given", () => {
  expect(piModel(modules(), "openai:m", undefined).baseUrl).toBe("https://example.com")
  expect(piModel(modules(), "openai:m", "https://proxy.example").baseUrl).toBe("https://proxy.example")
})

test("tokens of a model without a price have an unknown cost, and no tokens cost nothing", () => {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  const used = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 6 }
  expect(toUsage({ ...used, cost }).costUsd).toBeNull()
  expect(toUsage({ ...used, cost: { ...cost, total: 0.5 } }).costUsd).toBe(0.5)
  expect(toUsage({ ...used, input: 0, output: 0, totalTokens: 0, cost }).costUsd).toBe(0)
})
