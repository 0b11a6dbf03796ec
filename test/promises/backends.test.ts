import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { claudeSdk } from "../../src/backends/claude-sdk/index.ts"
import { createCompactionManager, estimateFirstTurnInput } from "../../src/backends/shared/compaction/index.ts"
import type { Backend } from "../../src/contract/backend.ts"
import type { BackendEnv } from "../../src/contract/backend-env.ts"
import type { Capabilities } from "../../src/contract/capabilities.ts"
import type { RunEvent } from "../../src/contract/event.ts"
import {
  listRuntimeBridges,
  meetsRequirements,
  parseRuntimeModelReference,
  resolveRuntimeBridge,
  runtimeCapabilities,
  supports,
} from "../../src/hosts/node/backends/registry.ts"
import { createRuntime, LonghaulError } from "../../src/hosts/node/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { type FakeSession, fakeBackend, type SimulatedRequest, scriptedModel } from "../../src/testing/index.ts"
import { createDispatcher, createToolContext, fileTools, memoryFiles } from "../../src/tools/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { hostOf, openingRequest, ScriptedAgent } from "../support/scripted-agent.ts"

describe("references to models", () => {
  test("a Claude model without a mode runs on the Claude SDK", { tags: ["BK-02", "BK-06"] }, () => {
    expect(parseRuntimeModelReference({ sdk: "claude", model: "claude-sonnet-4-6" })).toEqual({
      backend: "claude-sdk",
      model: "claude-sonnet-4-6",
    })
    expect(parseRuntimeModelReference("claude:claude-sonnet-4-6", "sdk").backend).toBe("claude-sdk")
  })

  test("a Claude model in CLI mode runs on the claude CLI", { tags: ["BK-03"] }, () => {
    expect(parseRuntimeModelReference({ sdk: "claude", model: "opus" }, "cli").backend).toBe("claude-cli")
    expect(parseRuntimeModelReference("claude:opus", "cli").backend).toBe("claude-cli")
  })

  test("a run of a Claude model in CLI mode starts the claude program, with that model", {
    tags: ["BK-03"],
  }, async () => {
    const { backend = "", model = "" } = parseRuntimeModelReference({ sdk: "claude", model: "opus" }, "cli")
    const started: { readonly command: string; readonly args: readonly string[] }[] = []
    const bridge = await resolveRuntimeBridge(backend)
    const spawn: NonNullable<BackendEnv["spawn"]> = async ({ command, args = [] }) => {
      started.push({ command, args })
      throw new LonghaulError("backend_missing", "It is not installed here.")
    }
    const env = { ...hostOf(new ScriptedAgent({})), spawn }
    await expect(bridge.open({ ...openingRequest, model }, env)).rejects.toMatchObject({ code: "backend_missing" })
    expect(started).toMatchObject([{ command: "claude", args: expect.arrayContaining(["--model", "opus"]) }])
  })

  test.each(["sdk", "cli"] as const)("a Pi model runs on Pi in mode %s", { tags: ["BK-04"] }, (mode) => {
    expect(parseRuntimeModelReference("pi:openai:gpt-5.5", mode)).toEqual({ backend: "pi", model: "openai:gpt-5.5" })
  })

  test("a Codex model in CLI mode runs on the Codex app-server", { tags: ["BK-05"] }, () => {
    expect(parseRuntimeModelReference({ sdk: "codex", model: "gpt-5.5" }, "cli")).toEqual({
      backend: "codex",
      model: "gpt-5.5",
    })
  })

  test("a reference may be an object of sdk, model and provider", { tags: ["BK-07"] }, () => {
    expect(parseRuntimeModelReference({ sdk: "pi", provider: "openai", model: "gpt-5.5" })).toEqual({
      backend: "pi",
      model: "openai:gpt-5.5",
    })
  })

  test.each([
    ["codex/gpt-5.5", { backend: "codex", model: "gpt-5.5" }],
    ["acp:gemini/gemini-2.5-pro", { backend: "acp:gemini", model: "gemini-2.5-pro" }],
    ["claude-cli", { backend: "claude-cli" }],
    ["openrouter:vendor/model", { model: "openrouter:vendor/model" }],
    ["anthropic:claude-sonnet-4-6", { model: "anthropic:claude-sonnet-4-6" }],
  ])("%s is parsed", (reference, expected) => {
    expect(parseRuntimeModelReference(reference)).toEqual(expected)
  })
})

describe("the registry", () => {
  test("the runtime lists the backends, resolves a name, and tells what each can do", {
    tags: ["BK-13", "BK-20", "BK-21"],
  }, async () => {
    const names = listRuntimeBridges()
    expect(names).toEqual(expect.arrayContaining(["claude-sdk", "claude-cli", "pi", "native"]))
    expect((await resolveRuntimeBridge("claude:opus", "cli")).name).toBe("claude-cli")
    expect((await resolveRuntimeBridge("anthropic:claude-sonnet-4-6")).name).toBe("native")
    expect(Object.keys(await runtimeCapabilities())).toEqual(names)
    await expect(resolveRuntimeBridge("acp:nobody/x")).rejects.toMatchObject({ code: "config_invalid" })
    const open = createRuntime({ store: memoryStore(), backends: [fakeBackend({ name: "own", script: () => "mine" })] })
    expect(await open.run({ task: "x", backend: "own" })).toMatchObject({ backend: "own", text: "mine" })
  })

  test("the Claude SDK, compaction and the context of tools are entries of the package, each usable alone", {
    tags: ["BK-14"],
  }, async () => {
    const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    expect(Object.keys(exports)).toEqual(expect.arrayContaining(["./backends/claude-sdk", "./compaction", "./tools"]))
    const claude = createRuntime({ store: memoryStore(), backend: claudeSdk() })
    const failed = await claude.run({ task: "x" })
    expect(failed).toMatchObject({
      status: "failed",
      error: { code: "backend_missing", fix: expect.stringMatching(/npm install/) },
    })
    const manager = createCompactionManager({ model: scriptedModel([]), window: 1000 })
    manager.add({ role: "user", content: [{ type: "text", text: "Count." }] })
    expect(await manager.beforeRequest()).toBeUndefined()
    expect(estimateFirstTurnInput({ messages: manager.messages })).toBeGreaterThan(0)
    const context = createToolContext({ cwd: "/notes", env: { files: memoryFiles({ "/notes/a.txt": "one" }) } })
    const { output } = await createDispatcher(fileTools()).dispatch({ name: "List", args: { path: "." } }, context)
    expect(output).toMatchObject([{ text: expect.stringContaining("a.txt") }])
  })

  test("Claude states its provider, limits, tools and prices", { tags: ["BK-23"] }, async () => {
    const { capabilities } = await resolveRuntimeBridge("claude-cli")
    expect(capabilities).toMatchObject({
      provider: "anthropic",
      contextTokens: 200_000,
      outputTokens: 8192,
      usdPer1k: { input: 0.003, output: 0.015 },
    })
    const names = capabilities.ownTools.map(({ name }) => name)
    const promised = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "WebFetch", "WebSearch", "Task", "Skill"]
    expect(names).toEqual(expect.arrayContaining(promised))
  })

  test("the native backend has no tools of its own and runs tools in parallel", { tags: ["BK-24"] }, async () => {
    const { name, capabilities } = await resolveRuntimeBridge("native")
    expect([name, capabilities.ownTools]).toEqual(["native", []])
    expect(supports(capabilities, "parallel_tools")).toBe(true)
  })

  test("a backend that needs a program says that it does not work at the edge", { tags: ["BK-25"] }, async () => {
    const all = Object.entries(await runtimeCapabilities())
    expect(all.filter(([, { edge }]) => edge).map(([name]) => name)).toEqual(["native"])
  })

  test("a backend for any model declares no tools of its own, and the default figures", {
    tags: ["CAP-03", "CAP-04", "CAP-05", "CAP-06"],
  }, async () => {
    const { native } = await runtimeCapabilities()
    expect(native).toMatchObject({ contextTokens: 128_000, outputTokens: 8192, latencyMs: 1000, coldStartMs: 0 })
    expect(native?.ownTools).toEqual([])
    expect(native?.usdPer1k).toEqual({ input: 0.01, output: 0.03 })
  })

  test("every record is complete", { tags: ["CAP-01", "CAP-02"] }, async () => {
    for (const [name, capabilities] of Object.entries(await runtimeCapabilities())) {
      const { provider, features, contextTokens, outputTokens, ownTools, usdPer1k, latencyMs, coldStartMs } =
        capabilities
      expect(provider, name).not.toBe("")
      expect(features, name).toEqual(expect.arrayContaining(["streaming", "tools", "interrupt"]))
      for (const number of [contextTokens, outputTokens, usdPer1k.input, usdPer1k.output, latencyMs]) {
        expect(number, name).toBeGreaterThan(0)
      }
      expect(coldStartMs, name).toBeGreaterThanOrEqual(0)
      expect(new Set(ownTools.map((tool) => tool.name)).size, name).toBe(ownTools.length)
    }
  })

  test("tools that a backend lacks the feature for can be dropped before it runs", { tags: ["CAP-09"] }, () => {
    const capabilities: Pick<Capabilities, "features"> = { features: ["tools"] }
    const needs = { Read: ["file_access"], send: [] }
    const kept = Object.entries(needs).filter(([, features]) =>
      meetsRequirements(capabilities as Capabilities, features),
    )
    expect(kept.map(([name]) => name)).toEqual(["send"])
  })
})

const tool = (name: string) =>
  defineTool({ name, description: name, inputSchema: { type: "object" }, effect: "none", run: () => "done" })

test("tools that a backend has itself are not offered a second time", { tags: ["TOOL-38"] }, async () => {
  const offered: string[][] = []
  const backend = fakeBackend({
    script({ tools }: SimulatedRequest) {
      offered.push(tools.map(({ name }) => name))
      return "fine"
    },
  })
  const runtime = createRuntime({ store: memoryStore(), backend, tools: [tool("Write"), tool("send")] })
  await runtime.run({ task: "x" })
  expect(offered).toEqual([["send", "Write"]])
})

test("an event near the end has the capabilities of the result", { tags: ["CAP-13"] }, async () => {
  const events: RunEvent[] = []
  const runtime = createRuntime({ store: memoryStore(), model: scriptedModel(["fine"]), tools: [] })
  const handle = runtime.stream({ task: "x" })
  for await (const event of handle) events.push(event)
  const { capabilitiesUsed } = await handle.result
  expect(events.filter(({ type }) => type === "capabilities")).toEqual([
    { type: "capabilities", used: capabilitiesUsed },
  ])
  expect(events.at(-1)?.type).toBe("run-end")
})

test("a run continues a session that its backend has stored", { tags: ["RUN-12"] }, async () => {
  const sessions = new Map<string, FakeSession>()
  const seen: string[] = []
  const backend = fakeBackend({
    sessions,
    script({ messages }) {
      seen.push(messages.map(({ text }) => text).join("|"))
      return "fine"
    },
  })
  const runtime = createRuntime({ store: memoryStore(), backend, tools: [] })
  const first = await runtime.run({ task: "First." })
  const second = await runtime.run({ task: "Second.", providerSessionId: first.sessionId ?? "" })
  expect(second).toMatchObject({ status: "done", sessionId: first.sessionId })
  expect(seen).toEqual(["First.", "First.|fine|Second."])
  const lost = await runtime.run({ task: "Third.", providerSessionId: "unknown" })
  expect(lost).toMatchObject({ status: "failed", error: { code: "session_lost" }, turns: 0 })
  expect(seen).toHaveLength(2)
  const none = createRuntime({ store: memoryStore(), model: scriptedModel(["x"]), tools: [] })
  expect(await none.run({ task: "x", providerSessionId: "s" })).toMatchObject({
    error: { code: "capability_mismatch" },
  })
})

test("the permission mode decides about the tools of other backends as about ours", { tags: ["APR-27"] }, async () => {
  const run = async (mode: "auto" | "ask" | "deny", preApproved: readonly string[] = []) => {
    const written: unknown[] = []
    const backend = fakeBackend({
      script: ({ messages }) =>
        messages.some(({ toolResults }) => toolResults.length > 0)
          ? "done"
          : { parts: [{ toolCall: { name: "Write", args: { path: "a" } } }] },
      write: (args) => written.push(args),
    })
    const policy = { mode, preApproved, tiers: { Write: "high" } } as const
    await createRuntime({ store: memoryStore(), backend, policy, tools: [] }).run({ task: "x" })
    return written.length
  }
  expect(await run("auto")).toBe(1)
  expect(await run("ask")).toBe(0)
  expect(await run("ask", ["Write"])).toBe(1)
  expect(await run("deny")).toBe(0)
})

test("a failure that may pass is retryable, and one that would repeat is not", { tags: ["FAIL-02"] }, () => {
  const retryable = (code: ConstructorParameters<typeof LonghaulError>[0]) => new LonghaulError(code, "x").retryable
  expect((["rate_limited", "overloaded", "network"] as const).map(retryable)).toEqual([true, true, true])
  expect((["auth", "billing", "invalid_request"] as const).map(retryable)).toEqual([false, false, false])
})

test("a runtime with defaults is the agent: model, mode, backend and required features, then a task", {
  tags: ["BK-22"],
}, async () => {
  const plain = fakeBackend({ name: "plain", script: () => "plain" })
  const seer = fakeBackend({ name: "seer", script: () => "I see.", capabilities: { features: ["tools", "vision"] } })
  const agent = createRuntime({
    store: memoryStore(),
    backends: [plain, seer],
    backend: "auto",
    policy: { mode: "auto" },
    selection: { requires: ["vision"] },
    tools: [],
  })
  expect(await agent.run({ task: "What is there?" })).toMatchObject({ backend: "seer", text: "I see." })
})

test("a backend works in the workspace, or in the folder that the run names", { tags: ["RUN-20"] }, async () => {
  const folders: string[] = []
  const base = fakeBackend({ script: () => "fine" })
  const backend: Backend = {
    ...base,
    open(request, env) {
      folders.push(request.cwd)
      return base.open(request, env)
    },
  }
  const runtime = createRuntime({ store: memoryStore(), workspace: "/tmp", backend, tools: [] })
  await runtime.run({ task: "x" })
  await runtime.run({ task: "x", cwd: "sub" })
  expect(folders).toEqual(["/tmp", "/tmp/sub"])
})
