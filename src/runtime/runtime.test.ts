import { afterEach, describe, expect, test, vi } from "vitest"
import { LONG_LIMIT_MS, withTimeLimit } from "../../test/support/time-limit.ts"
import { until } from "../../test/support/watchdog.ts"
import { native } from "../backends/native/index.ts"
import type { Backend } from "../contract/backend.ts"
import { LonghaulError } from "../contract/error.ts"
import type { RunEvent } from "../contract/event.ts"
import type { Model } from "../contract/provider.ts"
import type { RuntimeConfig } from "../contract/run.ts"
import { ToolError } from "../contract/tool.ts"
import { createRuntime } from "../index.ts"
import { project } from "../journal/projection.ts"
import { tenantOf } from "../lib/tenant/run-keys.ts"
import { memoryStore } from "../stores/memory.ts"
import { type ScriptedModel, type ScriptedStep, scriptedModel } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

const anyInput = { type: "object" } as const
const models: ScriptedModel[] = []
afterEach(() => {
  for (const model of models.splice(0)) model.done()
})

function setup(steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const model = scriptedModel(steps)
  models.push(model)
  const store = memoryStore()
  return {
    model,
    store,
    runtime: createRuntime({ model, store, backend: native({ retry: { firstMs: 1 } }), ...config }),
  }
}

const call = (name: string, args = {}) => ({ toolCall: { name, args } })
const tool = (name: string, run: () => unknown, more: object = {}) =>
  defineTool({ name, description: name, inputSchema: anyInput, run, ...more })

const idOf = (event: RunEvent) => ("id" in event ? event.id : undefined)

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

describe("a run", () => {
  test("a run calls the model, runs its tool calls, returns the results and ends with its text", async () => {
    const { model, runtime } = setup(
      [
        { parts: [{ text: "Looking." }, call("add", { a: 2, b: 3 })] },
        (messages) => `It is ${JSON.stringify(messages.at(-1)?.content[0])}`,
      ],
      { tools: [defineTool({ name: "add", description: "adds", inputSchema: anyInput, run: () => 5 })] },
    )
    const result = await runtime.run({ task: "2 + 3?", runId: "sum", metadata: { ticket: 7 } })
    expect(result).toMatchObject({
      runId: "sum",
      nodeId: "main",
      status: "done",
      turns: 2,
      backend: "native",
      model: "scripted",
      toolCalls: [{ id: "1.1", name: "add", args: { a: 2, b: 3 }, result: "5", status: "ok" }],
      warnings: [],
      usage: {
        inputTokens: expect.any(Number),
        outputTokens: expect.any(Number),
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      },
    })
    expect(result.data).toBe(result.text)
    expect(result.text).toContain('"text":"5"')
    expect(result.error).toBeUndefined()
    expect(model.calls[1]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
    expect(JSON.parse(JSON.stringify(result))).toEqual(result)
  })

  test("a run accepts a conversation instead of a task, or both", async () => {
    const { model, runtime } = setup(["one", "two"])
    const history = [
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      { role: "assistant", content: [{ type: "text", text: "Hello" }] },
    ] as const
    await runtime.run({ messages: [...history], task: "And?" })
    await runtime.run({ messages: [...history, { role: "user", content: [{ type: "text", text: "So?" }] }] })
    expect(model.calls.map((messages) => messages.at(-1)?.content)).toEqual([
      [{ type: "text", text: "And?" }],
      [{ type: "text", text: "So?" }],
    ])
    expect(model.calls[0]).toHaveLength(3)
  })

  test("a run without an id gets run_<uuid>; a used id is rejected and the first run is unaffected", async () => {
    const { runtime } = setup(["a", "b"])
    const first = await runtime.run({ task: "x" })
    expect(first.runId).toMatch(/^run_[0-9a-f-]{36}$/)
    const second = await runtime.run({ task: "x", runId: first.runId })
    expect(second).toMatchObject({ status: "failed", error: { code: "run_active" } })
    expect(await runtime.status(first.runId)).toMatchObject({ status: "done", text: "a" })
    expect(await runtime.run({ task: "x", runId: first.runId, nodeId: "other" })).toMatchObject({ status: "done" })
  })

  test("the journal's messages equal those last sent to the model", async () => {
    const { model, runtime } = setup(
      [
        { parts: [{ reasoning: "hm", signature: "s" }, { text: "two calls" }, call("slow"), call("quick")] },
        { parts: [call("slow")] },
        "done",
      ],
      { tools: [tool("slow", async () => "s"), tool("quick", () => "q", { effect: "none" })] },
    )
    const { runId } = await runtime.run({ task: "go" })
    const records = await collect(runtime.events(runId))
    const folded = project(records as never).messages
    expect(folded.slice(0, -1)).toEqual(model.calls.at(-1))
    expect(folded.at(-1)).toEqual({ role: "assistant", content: [{ type: "text", text: "done" }] })
  })

  test("a run without a model fails with a fix", async () => {
    const result = await createRuntime().run({ task: "x" })
    expect(result).toMatchObject({
      status: "failed",
      data: null,
      error: { code: "config_invalid", fix: expect.any(String) },
    })
  })

  test.each([
    ["no task", {}],
    ["blank task", { task: "  " }],
    ["bad runId", { task: "x", runId: "../up" }],
    ["bad limit", { task: "x", limits: { turns: 0 } }],
    ["a time no timer can wait", { task: "x", limits: { timeMs: 2 ** 31 } }],
    ["misspelt key", { task: "x", maxTurns: 3 }],
    ["a model's name in the portable root", { task: "x", model: "offline" }],
  ])("%s is a failed result, not an exception", async (_, input) => {
    const { runtime } = setup([])
    expect(await runtime.run(input as never)).toMatchObject({
      status: "failed",
      turns: 0,
      error: { code: "config_invalid", fix: expect.any(String) },
    })
  })
})

describe("configuration", () => {
  test("createRuntime needs no configuration", () => {
    expect(() => createRuntime()).not.toThrow()
  })

  test.each([
    ["unknown key", { modle: {} }],
    ["bad workspaceId", { workspaceId: "a/b" }],
    ["bad limits", { limits: { turns: 1.5 } }],
    ["unknown limit", { limits: { cycles: 3 } }],
    ["not a model", { model: 3 }],
    ["two tools of one name", { tools: [tool("a", () => 1), tool("a", () => 2)] }],
  ])("%s is rejected immediately with a fix", (_, config) => {
    expect(() => createRuntime(config as never)).toThrow(expect.objectContaining({ code: "config_invalid" }))
  })
})

describe("tools", () => {
  test("tools of one step run in parallel if declared so, otherwise alone, with results in call order", async () => {
    const log: string[] = []
    const slow = (name: string, concurrent: boolean) =>
      defineTool({
        name,
        description: name,
        inputSchema: anyInput,
        effect: "repeatable",
        concurrent,
        async run() {
          log.push(`+${name}`)
          if (name === "a") await until(() => log.includes("-b"))
          // Time in which one that has to wait could start.
          await new Promise((resolve) => setTimeout(resolve, 5))
          log.push(`-${name}`)
          return name
        },
      })
    const { model, runtime } = setup([{ parts: [call("a"), call("b"), call("c"), call("d")] }, "ok"], {
      tools: [slow("a", true), slow("b", true), slow("c", false), slow("d", true)],
    })
    await runtime.run({ task: "x" })
    expect(log).toEqual(["+a", "+b", "-b", "-a", "+c", "-c", "+d", "-d"])
    const last = model.calls[1]?.at(-1)
    expect(last?.role === "tool" && last.content.map(({ output }) => output[0])).toEqual(
      ["a", "b", "c", "d"].map((text) => ({ type: "text", text })),
    )
  })

  test("tools that throw, return invalid values, get bad arguments or do not exist give results, and the run continues", async () => {
    const { model, runtime } = setup(
      [
        {
          parts: [
            call("throws"),
            call("cycle"),
            call("typed", { n: "x" }),
            call("nobody"),
            { toolCall: { name: "typed", rawArgs: "{" } },
          ],
        },
        "ok",
      ],
      {
        tools: [
          tool("throws", () => {
            throw new Error("secret-token-123")
          }),
          tool("cycle", () => {
            const cycle: Record<string, unknown> = {}
            cycle.self = cycle
            return cycle
          }),
          defineTool({
            name: "typed",
            description: "t",
            inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
            run: () => "never",
          }),
        ],
      },
    )
    const result = await runtime.run({ task: "x" })
    expect(result.status).toBe("done")
    expect(result.toolCalls.map(({ status }) => status)).toEqual(["error", "error", "error", "error", "error"])
    expect(JSON.stringify(model.calls)).not.toContain("secret-token-123")
    expect(result.toolCalls[3]?.result).toContain("not_found")
  })

  test("tools with effect none start before the answer is complete; a retry drops them; they are recorded once, after their call", async () => {
    let runs = 0
    const steps: ScriptedStep[] = []
    const started = vi.fn()
    const peek = tool("peek", () => `run ${++runs}`, { effect: "none" })
    /** Streams its call, then waits for the tool to have started before it fails or finishes. */
    const model: Model = {
      provider: "p",
      id: "m",
      converse: () => {
        let calls = 0
        return {
          async call(messages, sink) {
            calls++
            const part = { type: "tool-call", wireId: `w${calls}`, name: "peek", args: {} } as const
            if (messages.length > 1) return answer([{ type: "text", text: "done" }], "end")
            sink.call?.(part, 0)
            await until(() => runs === calls)
            started()
            if (calls === 1) throw new LonghaulError("network", "cut")
            return answer([part], "tool-calls")
          },
        }
      },
    }
    const answer = (parts: never[] | readonly object[], stopReason: "end" | "tool-calls") => ({
      parts: parts as never,
      stopReason,
      usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 },
      model: "m",
    })
    const { runtime } = setup(steps, { model, tools: [peek] })
    const result = await runtime.run({ task: "x" })
    expect(started).toHaveBeenCalledTimes(2)
    expect(result).toMatchObject({ status: "done", toolCalls: [{ id: "1.0", result: "run 2", status: "ok" }] })
    const types = (await collect(runtime.events(result.runId))).map(({ type }) => type)
    expect(types.filter((type) => type === "tool-result")).toHaveLength(1)
    expect(types.indexOf("tool-result")).toBeGreaterThan(types.indexOf("tool-call"))
    expect(types).not.toContain("tool-intent")
  })

  test("tools with an effect start only when the answer that calls them is complete", async () => {
    const order: string[] = []
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
    const model: Model = {
      provider: "p",
      id: "m",
      converse: () => ({
        async call(messages, sink) {
          if (messages.length > 1) {
            return { parts: [{ type: "text", text: "done" }], stopReason: "end", usage, model: "m" }
          }
          const parts = ["none", "repeatable", "once"].map(
            (name) => ({ type: "tool-call", wireId: name, name, args: {} }) as const,
          )
          for (const [index, part] of parts.entries()) sink.call?.(part, index)
          // The tool that may start early has started; any other early start would have happened by now.
          await until(() => order.includes("none"))
          order.push("answer")
          return { parts, stopReason: "tool-calls", usage, model: "m" }
        },
      }),
    }
    const tools = (["none", "repeatable", "once"] as const).map((effect) =>
      tool(effect, () => order.push(effect), { effect, concurrent: true }),
    )
    const { runtime } = setup([], { model, tools })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done" })
    expect(order.slice(0, 2)).toEqual(["none", "answer"])
    expect(order.slice(2).sort()).toEqual(["once", "repeatable"])
  })

  test("tools with an effect have a recorded intent before they run, and a stable idempotency key", async () => {
    const seen: string[] = []
    const { runtime, store } = setup([{ parts: [call("pay"), call("pay")] }, "paid"], {
      tools: [
        defineTool({
          name: "pay",
          description: "pays",
          inputSchema: anyInput,
          async run(_, { runId, callId, idempotencyKey }) {
            const folder = store.folder(`workspaces/default/.longhaul/projects/${runId}/nodes/main`)
            const journal = new TextDecoder().decode((await folder.read("000000.jsonl")) ?? new Uint8Array())
            expect(journal).toContain(`"type":"tool-intent","callId":"${callId}"`)
            seen.push(idempotencyKey)
            return "ok"
          },
        }),
      ],
    })
    await runtime.run({ task: "x", runId: "r" })
    const tenant = await tenantOf(store, "default")
    expect(seen).toEqual([`${tenant}/r/main/1.0`, `${tenant}/r/main/1.1`])
  })

  test("tools with an effect are rejected if a backend calls them before their call is recorded", async () => {
    const ran: string[] = []
    const answers: string[] = []
    const hasty: Backend = {
      ...native(),
      async open() {
        return {
          ref: { backend: "hasty", version: "1", id: "s", cwd: ".", resumable: false },
          async run(_, host) {
            for (const name of ["pay", "nobody"])
              answers.push((await host.callTool({ callId: name, name, args: {} })).status)
            host.emit({ type: "tool-call", turn: 1, callId: "again", name: "pay", args: {} })
            answers.push((await host.callTool({ callId: "again", name: "pay", args: {} })).status)
            return { reason: "done", text: "" }
          },
          steer: () => false,
          interrupt() {},
          async close() {},
        }
      },
    }
    const { runtime } = setup([], { backend: hasty, tools: [tool("pay", () => ran.push("paid"))] })
    await runtime.run({ task: "x" })
    expect(answers).toEqual(["denied", "denied", "ok"])
    expect(ran).toEqual(["paid"])
  })

  test("tools of a run are added to the runtime's; disabled tools are neither offered nor run", async () => {
    const { model, runtime } = setup([{ parts: [call("off")] }, "ok"], {
      tools: [tool("on", () => 1), tool("off", () => 2)],
      disabledTools: ["off"],
    })
    const offered: string[][] = []
    const listening: Model = {
      ...model,
      converse: (setup) => {
        offered.push(setup.tools.map(({ name }) => name))
        return model.converse(setup)
      },
    }
    const result = await runtime.run({ task: "x", model: listening, tools: [tool("extra", () => 3)] })
    expect(offered).toEqual([["on", "extra"]])
    expect(result.toolCalls).toMatchObject([
      { name: "off", status: "error", result: expect.stringContaining("not_found") },
    ])
  })
})

describe("limits and endings", () => {
  const endless = (): ScriptedStep[] => Array.from({ length: 3 }, () => ({ parts: [call("again")] }))

  test("the turn limit ends the run as max_turns, with the turns it used", async () => {
    const { runtime } = setup(endless(), { tools: [tool("again", () => "more")], limits: { turns: 3 } })
    const result = await runtime.run({ task: "x" })
    expect(result).toMatchObject({
      status: "failed",
      data: null,
      turns: 3,
      error: { code: "max_turns", retryable: false },
    })
    expect(result.toolCalls).toHaveLength(3)
  })

  test("an answer within the limit is done", async () => {
    const { runtime } = setup(["fine"], { limits: { turns: 1 } })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done", turns: 1 })
  })

  test("the time limit ends the run as run_timeout; a running tool gets the signal and is reported as unknown", async () => {
    let aborted = false
    const result = await withTimeLimit((pass) => {
      const hang = defineTool({
        name: "hang",
        description: "hangs",
        inputSchema: anyInput,
        run: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              aborted = true
              reject(new Error("stopped"))
            })
            pass()
          }),
      })
      const { runtime } = setup([{ parts: [call("hang")] }], { tools: [hang], limits: { timeMs: LONG_LIMIT_MS } })
      return runtime.run({ task: "x" })
    })
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "run_timeout" },
      toolCalls: [{ status: "unknown" }],
    })
    expect(aborted).toBe(true)
  })

  test("a tool with an effect that reports its own abort has an unknown outcome", async () => {
    for (const effect of ["repeatable", "once"] as const) {
      const stop = new AbortController()
      const pay = defineTool({
        name: "pay",
        description: "pays",
        inputSchema: anyInput,
        effect,
        run: async () => {
          stop.abort()
          throw new ToolError("aborted", "The payment was broken off.")
        },
      })
      const { runtime } = setup([{ parts: [call("pay")] }], { tools: [pay] })
      const result = await runtime.run({ task: "x", signal: stop.signal })
      expect(result.toolCalls).toMatchObject([{ status: "unknown" }])
    }
  })

  test("a signal cancels immediately: the partial text is in the result, not in the conversation", async () => {
    const abort = new AbortController()
    const hanging: Model = {
      provider: "p",
      id: "m",
      converse: () => ({
        call: (_, sink, signal) =>
          new Promise((_resolve, reject) => {
            sink.delta?.("text", 0, "half a sen")
            signal.addEventListener("abort", () => reject(new Error("aborted")))
            abort.abort()
          }),
      }),
    }
    const { runtime } = setup([], { model: hanging })
    const result = await runtime.run({ task: "x", signal: abort.signal })
    expect(result).toMatchObject({ status: "cancelled", data: null, text: "half a sen", error: { code: "cancelled" } })
    const records = await collect(runtime.events(result.runId))
    expect(project(records as never).messages).toHaveLength(1)
  })

  test("an already aborted signal cancels before the first model call", async () => {
    const { runtime } = setup([])
    expect(await runtime.run({ task: "x", signal: AbortSignal.abort() })).toMatchObject({
      status: "cancelled",
      turns: 0,
    })
  })

  test("a graceful interrupt lets running tools finish and starts nothing new", async () => {
    const ran: string[] = []
    const { runtime } = setup([{ parts: [call("first"), call("second")] }], {
      tools: [
        tool("first", async () => {
          ran.push("first")
          handle.interrupt()
          return "finished"
        }),
        tool("second", () => ran.push("second")),
      ],
    })
    const handle = runtime.stream({ task: "x" })
    const result = await handle.result
    expect(ran).toEqual(["first"])
    expect(result).toMatchObject({
      status: "cancelled",
      toolCalls: [
        { name: "first", status: "ok", result: "finished" },
        { name: "second", status: "denied" },
      ],
    })
  })

  test("a graceful interrupt does not wait for a retry", async () => {
    const busy = new LonghaulError("rate_limited", "wait", { retryAfterMs: 100_000 })
    const { runtime } = setup([{ fail: busy }])
    const handle = runtime.stream({ task: "x" })
    for await (const event of handle) if (event.type === "turn-start") setTimeout(() => handle.interrupt(), 20)
    expect(await handle.result).toMatchObject({ status: "cancelled" })
  })

  test.each([
    ["refusal", "content_filtered"],
    ["context-overflow", "context_overflow"],
  ] as const)("an answer that ends with %s fails as %s, and its calls do not run", async (stopReason, code) => {
    let ran = 0
    const steps = [{ parts: [call("pay")], stopReason }]
    const { runtime } = setup(steps, { tools: [tool("pay", () => ran++)], compaction: false })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "failed", error: { code }, turns: 1 })
    expect(ran).toBe(0)
  })

  test("retries are recorded and bounded; deltas of a failed attempt have different ids", async () => {
    const network = new LonghaulError("network", "gone")
    const { runtime } = setup([{ fail: network }, { fail: network }, "third time"])
    const events = await collect(runtime.stream({ task: "x" }))
    expect(events.filter(({ type }) => type === "retry")).toMatchObject([
      { attempt: 1, failure: { code: "network" } },
      { attempt: 2, failure: { code: "network" } },
    ])
    const ends = events.filter((event) => event.type === "text-end")
    const deltas = events.filter((event) => event.type === "text-delta")
    expect(new Set(deltas.map(idOf))).toEqual(new Set(ends.map(idOf)))
    const { runtime: other } = setup(Array.from({ length: 6 }, () => ({ fail: network })))
    expect(await other.run({ task: "x" })).toMatchObject({
      status: "failed",
      error: { code: "network", retryable: true },
    })
  })

  test("a model or backend that violates its contract gives a failed result", async () => {
    const breaks: Model = {
      provider: "p",
      id: "m",
      converse: () => ({ call: () => Promise.reject(new TypeError("oops")) }),
    }
    const { runtime } = setup([], { model: breaks })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "failed", error: { code: "internal" } })
    const crashes: Backend = { ...native(), name: "crashy", open: () => Promise.reject(new TypeError("oops")) }
    const { runtime: other } = setup([], { backend: crashes })
    expect(await other.run({ task: "x" })).toMatchObject({
      status: "failed",
      error: { code: "backend_crashed" },
      backend: "crashy",
    })
  })
})

describe("events", () => {
  test("events arrive in order, records before the deltas that follow them; the handle ends after the last", async () => {
    const { runtime } = setup([{ parts: [{ text: "Hello there, world" }, call("note")] }, "bye"], {
      tools: [
        defineTool({
          name: "note",
          description: "n",
          inputSchema: anyInput,
          run: (_, { progress }) => {
            progress("half way")
            return "ok"
          },
        }),
      ],
    })
    const heard: RunEvent[] = []
    const handle = runtime.stream({ task: "x", onEvent: (event) => heard.push(event) })
    const events = await collect(handle)
    expect(heard).toEqual(events)
    const records = events.filter((event) => "seq" in event)
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index))
    expect(records).toEqual(await collect(runtime.events(handle.runId)))
    expect(events.map(({ type }) => type)).toEqual([
      ...[
        "run-start",
        "choice",
        "session",
        "turn-start",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "tool-call",
      ],
      ...["usage", "tool-intent", "tool-progress", "tool-result", "turn-end", "turn-start"],
      ...["text-start", "text-delta", "text-end", "usage", "turn-end", "capabilities", "run-end"],
    ])
    expect(await handle.result).toMatchObject({ status: "done" })
  })

  test("text() yields the model's text as it streams", async () => {
    const { runtime } = setup(["A text of several deltas"])
    let text = ""
    for await (const delta of runtime.stream({ task: "x" }).text()) text += delta
    expect(text).toBe("A text of several deltas")
  })

  test("a listener that throws affects neither the run nor other listeners", async () => {
    const { runtime } = setup(["fine"])
    const result = await runtime.run({
      task: "x",
      onEvent() {
        throw new Error("listener")
      },
    })
    expect(result.status).toBe("done")
  })

  test("a consumer that stops early does not stop the run", async () => {
    const { runtime } = setup(["fine"])
    const handle = runtime.stream({ task: "x" })
    for await (const _ of handle) break
    expect(await handle.result).toMatchObject({ status: "done" })
  })
})

describe("the store", () => {
  test("a run is stored under its workspace; another workspace does not see it", async () => {
    const { store, runtime } = setup(["fine"], { workspaceId: "acme" })
    const { runId, transcript } = await runtime.run({ task: "x" })
    const path = `workspaces/acme/.longhaul/projects/${runId}/nodes/main`
    expect(transcript).toEqual({ path: `memory:${path}`, lastShard: 0 })
    expect(await store.list(path)).toContain("000000.jsonl")
    const other = createRuntime({ store, workspaceId: "acme-2" })
    expect(await other.runs()).toEqual([])
    expect(await other.status(runId)).toMatchObject({ status: "not_found", data: null, error: { code: "not_found" } })
    await store.folder("workspaces/acme/.longhaul/projects/.DS_Store").replace("x", new Uint8Array())
    expect(await runtime.runs()).toMatchObject([{ runId, status: "done", task: "x", turns: 1 }])
  })

  test.each(["fenced", "storage"] as const)(
    "%s cannot be recorded: the result is the durable fold plus that error",
    async (code) => {
      const inner = memoryStore()
      let broken = false
      const ran: string[] = []
      const failing = () => (broken ? Promise.reject(new LonghaulError(code, "broken")) : undefined)
      const { runtime } = setup([{ parts: [call("first")] }, { parts: [call("second")] }], {
        store: {
          ...inner,
          folder(path) {
            const folder = inner.folder(path)
            return {
              ...folder,
              append: {
                ...(folder.append as NonNullable<typeof folder.append>),
                sync: async () => {},
                syncFolder: async () => {},
                async open(name, first) {
                  await failing()
                  const file = await folder.append?.open(name, first)
                  return file ? { ...file, write: (bytes) => failing() ?? file.write(bytes) } : null
                },
              },
            }
          },
        },
        tools: [
          tool("first", () => {
            ran.push("first")
            broken = true
          }),
          tool("second", () => ran.push("second")),
        ],
      })
      const result = await runtime.run({ task: "x" })
      expect(result).toMatchObject({ status: "failed", error: { code } })
      expect(ran).toEqual(["first"])
      expect(result.toolCalls).toMatchObject([{ name: "first", status: "unknown" }])
      models.length = 0
    },
  )

  test("close interrupts active runs and waits for them", async () => {
    const { runtime } = setup([{ parts: [call("hang")] }], { tools: [tool("hang", () => new Promise(() => {}))] })
    const handle = runtime.stream({ task: "x" })
    for await (const event of handle) if (event.type === "tool-intent") break
    await runtime.close()
    expect(await handle.result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "unknown" }] })
  })
})
