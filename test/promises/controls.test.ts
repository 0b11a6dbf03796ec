import { afterEach, describe, expect, test } from "vitest"
import { z } from "zod"
import { native } from "../../src/backends/native/index.ts"
import {
  createMetricsObserver,
  createRuntime,
  defineTool,
  type Hooks,
  type Message,
  type RunEvent,
  type RunMetric,
  type RuntimeConfig,
} from "../../src/index.ts"
import { project } from "../../src/journal/projection.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { type ScriptedModel, type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { until } from "../support/watchdog.ts"

const models: ScriptedModel[] = []
afterEach(() => {
  for (const model of models.splice(0)) model.done()
})

function setup(steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const model = scriptedModel(steps)
  models.push(model)
  const runtime = createRuntime({ model, store: memoryStore(), backend: native({ retry: { firstMs: 1 } }), ...config })
  return { model, runtime }
}

const call = (name: string, args = {}) => ({ parts: [{ toolCall: { name, args } }] })
const cut = (text: string) => ({ parts: [{ text }], stopReason: "output-limit" as const })
const tool = (name: string, run: () => unknown) =>
  defineTool({ name, description: name, inputSchema: { type: "object" }, run })
const texts = (messages: readonly Message[] | undefined) =>
  messages?.map(({ role, content }) => [role, ...content.map((part) => ("text" in part ? part.text : part.type))])
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const

describe("steering", () => {
  test("a steering message during a tool reaches the model with the tool's result, and is recorded", {
    tags: ["RUN-09"],
  }, async () => {
    const { model, runtime } = setup([call("look"), "Turned."], {
      tools: [tool("look", () => handle.steer("Turn left instead") && "seen")],
    })
    const handle = runtime.stream({ task: "Go", runId: "r" })
    const events: RunEvent[] = []
    for await (const event of handle) events.push(event)
    expect(await handle.result).toMatchObject({ status: "done", text: "Turned.", turns: 2 })
    expect(texts(model.calls[1])).toEqual([
      ["user", "Go"],
      ["assistant", "tool-call"],
      ["tool", "tool-result"],
      ["user", "Turn left instead"],
    ])
    expect(events).toContainEqual(expect.objectContaining({ type: "steer", text: "Turn left instead" }))
    const folded = project(events.filter((event) => "seq" in event)).messages
    expect(texts(folded)?.slice(0, 4)).toEqual(texts(model.calls[1]))
    expect(handle.steer("Too late")).toBe(false)
  })

  test("a steering message before the last answer ends is answered too", { tags: ["RUN-09"] }, async () => {
    const { runtime } = setup([async () => ((await runtime.steer("r", "And in French?")) ? "Yes." : "lost"), "Oui."])
    const result = await runtime.run({ task: "Yes?", runId: "r" })
    expect(result).toMatchObject({ status: "done", text: "Oui.", turns: 2 })
    expect(await runtime.steer("r", "x")).toBe(false)
    expect(await runtime.steer("nobody", "x")).toBe(false)
  })

  test("interrupt returns whether it had an effect; graceful finishes the step", { tags: ["RUN-23"] }, async () => {
    const { runtime } = setup([call("slow")], {
      tools: [
        tool(
          "slow",
          async () => (await runtime.interrupt("r")) && new Promise((done) => setTimeout(done, 20, "finished")),
        ),
      ],
    })
    const result = await runtime.run({ task: "x", runId: "r" })
    expect(result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "ok", result: "finished" }] })
    expect(await runtime.interrupt("r")).toBe(false)
  })

  test("an immediate interrupt stops the tool too", { tags: ["RUN-23"] }, async () => {
    const { runtime } = setup([call("slow")], {
      tools: [tool("slow", async () => (await runtime.interrupt("r", "immediate")) && new Promise(() => {}))],
    })
    const result = await runtime.run({ task: "x", runId: "r" })
    expect(result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "unknown" }] })
  })
})

describe("structured output", () => {
  test("a schema turns the answer into data, with its source", { tags: ["RUN-07", "RES-03", "RES-08"] }, async () => {
    const { runtime } = setup(['{"city":"Oslo"}'])
    const result = await runtime.run({ task: "Where?", outputSchema: city })
    expect(result).toMatchObject({ status: "done", data: { city: "Oslo" }, text: '{"city":"Oslo"}' })
    expect(result.structuredSource).toBe("text")
    expect(result.capabilitiesUsed.structuredOutputEnforced).toBe(false)
  })

  test.each([
    [
      "no cache and no reasoning",
      { cacheReadTokens: 0, cacheWriteTokens: 0 },
      [],
      { promptCache: false, thinking: false },
    ],
    ["a read of the cache", { cacheReadTokens: 5, cacheWriteTokens: 0 }, [], { promptCache: true, thinking: false }],
    ["a write to the cache", { cacheReadTokens: 0, cacheWriteTokens: 5 }, [], { promptCache: true, thinking: false }],
    [
      "reasoning",
      { cacheReadTokens: 0, cacheWriteTokens: 0 },
      [{ reasoning: "hm", signature: "s" }],
      { promptCache: false, thinking: true },
    ],
  ])("a run with %s says so", { tags: ["CAP-11"] }, async (_, usage, parts, used) => {
    const { runtime } = setup([{ parts: [...parts, { text: "x" }], usage }])
    expect((await runtime.run({ task: "x" })).capabilitiesUsed).toMatchObject(used)
  })

  test("a run says what any of its answers used, not only the last", { tags: ["CAP-11"] }, async () => {
    const first = { ...call("look"), usage: { cacheReadTokens: 5 } }
    const { runtime } = setup([{ ...first, parts: [{ reasoning: "hm", signature: "s" }, ...first.parts] }, "Done."], {
      tools: [tool("look", () => 1)],
    })
    expect((await runtime.run({ task: "x" })).capabilitiesUsed).toMatchObject({ promptCache: true, thinking: true })
  })

  test("provider-enforced schemas are reported as such; unknown capabilities are null", {
    tags: ["CAP-11", "CAP-12"],
  }, async () => {
    const model = { ...scriptedModel(['{"city":"Oslo"}']), enforcesSchema: true }
    const { runtime } = setup([], { model })
    const result = await runtime.run({ task: "Where?", outputSchema: city })
    expect(result.structuredSource).toBe("provider")
    expect(result.capabilitiesUsed).toEqual({
      promptCache: false,
      thinking: false,
      structuredOutputEnforced: true,
      subagentInvoked: false,
      mcpServersUsed: [],
      nativeSubagentsUsed: [],
      toolCompactionApplied: false,
      contextCompactionApplied: false,
    })
    const mute = { ...scriptedModel(["x"]), ...withoutCacheCounts() }
    const told = await createRuntime({ model: mute }).run({ task: "x" })
    expect(told.capabilitiesUsed.promptCache).toBeNull()
  })

  test("a Standard Schema validates and transforms; without a schema the data is the text", {
    tags: ["RUN-16"],
  }, async () => {
    const { runtime } = setup(['Here:\n```json\n{"city":"oslo"}\n```', "plain"])
    const schema = z.object({ city: z.string().toUpperCase() })
    const result = await runtime.run({ task: "Where?", outputSchema: schema })
    expect(result).toMatchObject({ status: "done", data: { city: "OSLO" }, structuredSource: "extracted" })
    expect(await runtime.run({ task: "Where?" })).toMatchObject({ data: "plain" })
  })

  test("a wrong answer is corrected in one more recorded turn", { tags: ["SO-02"] }, async () => {
    const { model, runtime } = setup(["It is Oslo.", '{"city":"Oslo"}'])
    const result = await runtime.run({ task: "Where?", outputSchema: city })
    expect(result).toMatchObject({ status: "done", data: { city: "Oslo" }, structuredSource: "repair", turns: 2 })
    expect(result.warnings).toMatchObject([{ code: "output_not_json" }])
    expect(texts(model.calls[1])?.at(-1)?.[1]).toContain("not JSON")
  })

  test.each([
    ["It is Oslo.", "output_not_json"],
    ["", "output_not_json"],
    ['{"town":"Oslo"}', "output_schema_mismatch"],
    ['{"city":"Os', "output_not_json"],
  ])(
    "strict: %j twice fails as %s, each time recorded",
    { tags: ["FAIL-24", "FAIL-25", "FAIL-26", "SO-02"] },
    async (answer, code) => {
      const { runtime } = setup([answer, answer])
      const result = await runtime.run({ task: "Where?", outputSchema: city })
      expect(result).toMatchObject({ status: "failed", data: null, error: { code, fix: expect.any(String) }, turns: 2 })
      expect(result.warnings.map((warning) => warning.code)).toEqual([code, code])
    },
  )

  test.each([
    ["It is Oslo.", "It is Oslo.", "raw"],
    ['{"town":"Oslo"}', { town: "Oslo" }, "mismatch"],
    ['{"city":"Oslo"}', { city: "Oslo" }, "text"],
  ])("forward: %j is returned unchanged with its source", async (answer, data, source) => {
    const { runtime } = setup([answer])
    const result = await runtime.run({ task: "Where?", outputSchema: city, outputMode: "forward" })
    expect(result).toMatchObject({ status: "done", data, structuredSource: source, turns: 1 })
  })

  test("an invalid schema and an invalid mode are config_invalid", { tags: ["FAIL-20"] }, async () => {
    const { runtime } = setup([])
    for (const input of [{ outputSchema: [] }, { outputSchema: city, outputMode: "maybe" }, { effort: "huge" }]) {
      const result = await runtime.run({ task: "x", ...input } as never)
      expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid", fix: expect.any(String) } })
    }
  })
})

describe("a failure has a code of its own", { tags: ["FAIL-27"] }, () => {
  test("a failure of a run is internal if neither the model nor the runtime knows the error", async () => {
    const model = {
      ...scriptedModel([]),
      converse: () => ({ call: () => Promise.reject(new TypeError("x is undefined")) }),
    }
    const result = await setup([], { model }).runtime.run({ task: "x" })
    expect(result).toMatchObject({ status: "failed", error: { code: "internal", retryable: false } })
  })

  test("a failure of a resume says what is wrong with the run, or with what it is resumed with", async () => {
    const { runtime } = setup(["Done."])
    await runtime.run({ task: "x", runId: "r" })
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "failed", error: { code: "invalid_state" } })
    expect(await runtime.resume({ runId: "../r" })).toMatchObject({ error: { code: "config_invalid" } })
    expect(await runtime.resume({ runId: "none" })).toMatchObject({ error: { code: "not_found", retryable: false } })
    expect(await runtime.status("none")).toMatchObject({ status: "not_found" })
  })

  test("a failure of a cancelled run is cancelled", async () => {
    const { runtime } = setup([call("look")], { tools: [tool("look", () => handle.interrupt())] })
    const handle = runtime.stream({ task: "x" })
    expect(await handle.result).toMatchObject({ status: "cancelled", error: { code: "cancelled", retryable: false } })
  })
})

describe("the output limit", () => {
  test("a cut answer continues in the next turn and counts as one text", { tags: ["FAIL-30"] }, async () => {
    const { model, runtime } = setup([cut("One, tw"), cut("o, thr"), "ee."])
    const result = await runtime.run({ task: "Count" })
    expect(result).toMatchObject({ status: "done", text: "One, two, three.", data: "One, two, three.", turns: 3 })
    expect(texts(model.calls[1])?.at(-1)?.[1]).toContain("cut at the output limit")
  })

  test("after three continuations the run fails as output_limit, and no call of a cut answer runs", {
    tags: ["FAIL-14"],
  }, async () => {
    let ran = 0
    const cutCall = { ...call("pay"), stopReason: "output-limit" as const }
    const { runtime } = setup([cutCall, cutCall, cutCall, cutCall], { tools: [tool("pay", () => ran++)] })
    const result = await runtime.run({ task: "x" })
    expect(result).toMatchObject({ status: "failed", error: { code: "output_limit" }, turns: 4, toolCalls: [] })
    expect(ran).toBe(0)
  })
})

describe("tool selection", () => {
  test("all tools are offered by default; allowedTools and disabledTools restrict them, per runtime and per run", {
    tags: ["RUN-04"],
  }, async () => {
    const offered: string[][] = []
    const step: ScriptedStep = (_, { tools }) => {
      offered.push(tools.map(({ name }) => name))
      return "ok"
    }
    const tools = ["a", "b", "c"].map((name) => tool(name, () => 1))
    await setup([step], { tools }).runtime.run({ task: "x" })
    const { runtime } = setup([step, step, step], { tools, allowedTools: ["a", "b"] })
    await runtime.run({ task: "x" })
    await runtime.run({ task: "x", disabledTools: ["a"] })
    await runtime.run({ task: "x", allowedTools: ["a"] })
    expect(offered).toEqual([["a", "b", "c"], ["a", "b"], ["b"], ["a"]])
    expect(await runtime.run({ task: "x", allowedTools: ["c"] })).toMatchObject({ error: { code: "config_invalid" } })
    expect(() => setup([], { tools, allowedTools: ["nobody"] })).toThrow(/nobody/)
  })

  test("with() returns another runtime over the same store, with other tools", { tags: ["HOST-13"] }, async () => {
    const { runtime } = setup(["one"], { tools: [tool("a", () => 1)] })
    const model = scriptedModel([(_, { tools }) => tools.map(({ name }) => name).join()])
    const other = runtime.with({ model, tools: [tool("b", () => 1)] })
    await runtime.run({ task: "x", runId: "first" })
    expect(await other.run({ task: "x" })).toMatchObject({ text: "b" })
    expect(await other.status("first")).toMatchObject({ status: "done", text: "one" })
  })
})

describe("hooks", () => {
  const slots: (keyof Hooks)[] = ["preRun", "postRun", "preTurn", "postTurn", "preToolCall", "postToolCall", "stop"]

  test("each hook is called at its point, postRun last", { tags: ["HOOK-01", "LOOP-01"] }, async () => {
    const order: string[] = []
    const note = (name: string) => (given: object) => {
      order.push("turn" in given ? `${name} ${given.turn}` : "name" in given ? `${name} ${given.name}` : name)
    }
    const hooks = Object.fromEntries(slots.map((name) => [name, note(name)])) as Hooks
    const { runtime } = setup([call("look"), "Done."], { hooks, tools: [tool("look", () => 1)] })
    await runtime.run({ task: "x" })
    expect(order).toEqual([
      ...["preRun", "preTurn 1", "preToolCall look", "postToolCall look", "postTurn 1", "stop 1"],
      ...["preTurn 2", "postTurn 2", "stop 2", "postRun"],
    ])
  })

  test("hooks are also called for tools that could start early", async () => {
    const heard: string[] = []
    const hooks: Hooks = { postToolCall: ({ name }, { status }) => void heard.push(`${name} ${status}`) }
    const look = defineTool({
      name: "look",
      description: "looks",
      inputSchema: { type: "object" },
      effect: "none",
      run: () => 1,
    })
    const { runtime } = setup([call("look"), "Done."], { hooks, tools: [look] })
    await runtime.run({ task: "x" })
    expect(heard).toEqual(["look ok"])
  })

  test("only stop can end a run, which is then done with the text so far", {
    tags: ["HOOK-02", "LOOP-06"],
  }, async () => {
    const hooks: Hooks = { stop: ({ turn }) => turn === 2, preTurn: () => false as never }
    const step = { parts: [{ text: "Working" }, { toolCall: { name: "look", args: {} } }] }
    const { runtime } = setup([step, step], { hooks, tools: [tool("look", () => 1)] })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done", text: "Working", turns: 2 })
  })

  test.each([
    ["returns false", () => false],
    ["returns { allow: false }", () => ({ allow: false, reason: "No." })],
    ["throws", () => Promise.reject(new Error("No."))],
  ])("a preToolCall that %s does not prevent the call", { tags: ["HOOK-02"] }, async (_, preToolCall) => {
    for (const effect of ["none", "repeatable", "once"] as const) {
      let ran = 0
      const look = defineTool({
        name: "look",
        description: "looks",
        inputSchema: { type: "object" },
        effect,
        run: () => ++ran,
      })
      // Safe: types forbid such a hook, but plain JavaScript callers have no types.
      const hooks = { preToolCall } as unknown as Hooks
      const { runtime } = setup([call("look"), "Done."], { hooks, tools: [look] })
      expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
      expect(ran).toBe(1)
    }
  })

  test.each(slots)("a %s that throws is at most a warning, never the end of the run", async (slot) => {
    const warned: string[] = []
    const hooks = { [slot]: () => Promise.reject(new TypeError("secret-in-a-message")) }
    const { runtime } = setup([call("look"), "Done."], {
      hooks,
      tools: [tool("look", () => 1)],
      logger: { warn: (message, data) => warned.push(`${message} ${JSON.stringify(data)}`) },
    })
    const result = await runtime.run({ task: "x" })
    expect(result).toMatchObject({ status: "done", text: "Done." })
    const told = JSON.stringify([result.warnings, warned])
    expect(told).toContain(slot)
    expect(told).not.toContain("secret-in-a-message")
  })

  test("postRun is called for a run that failed, was cancelled or could not start", { tags: ["HOOK-03"] }, async () => {
    const heard: string[] = []
    const hooks: Hooks = { postRun: ({ status, error }) => void heard.push(`${status} ${error?.code}`) }
    const { runtime } = setup([call("look"), call("look")], {
      hooks,
      tools: [tool("look", () => runtime.interrupt("cancelled"))],
    })
    await runtime.run({ task: "x", limits: { turns: 1 } })
    await runtime.run({ task: "x", runId: "cancelled" })
    await runtime.run({ task: "" })
    expect(heard).toEqual(["failed max_turns", "cancelled cancelled", "failed config_invalid"])
  })
})

describe("observers", () => {
  test("all observers and onEvent receive every event; one that throws is contained", {
    tags: ["HOST-09", "OBS-01", "RUN-10"],
  }, async () => {
    const heard: string[][] = [[], [], []]
    const observers = [
      { recordEvent: (event: RunEvent) => void heard[0]?.push(event.type) },
      {
        recordEvent() {
          throw new Error("broken")
        },
        flush: () => Promise.reject(new Error("broken")),
      },
      {
        recordEvent(event: RunEvent, { runId, nodeId }: { runId: string; nodeId: string }) {
          if (runId === "r" && nodeId === "main") heard[1]?.push(event.type)
        },
      },
    ]
    const { runtime } = setup(["Hello there, this is text."], { observers })
    await runtime.run({ task: "x", runId: "r", onEvent: ({ type }) => heard[2]?.push(type) })
    expect(heard[0]).toContain("text-delta")
    expect(heard[0]?.at(-1)).toBe("run-end")
    expect(heard[1]).toEqual(heard[0])
    expect(heard[2]).toEqual(heard[0])
    await runtime.close()
  })

  test("close flushes each observer once, after the last event, and waits for it", { tags: ["OBS-01"] }, async () => {
    const heard: string[] = []
    const observers = [
      {
        recordEvent() {},
        flush() {
          throw new Error("broken")
        },
      },
      {
        recordEvent: ({ type }: RunEvent) => void heard.push(type),
        async flush() {
          heard.push("flush begins")
          await new Promise((resolve) => setTimeout(resolve, 20))
          heard.push("flush ends")
        },
      },
    ]
    const { runtime } = setup([call("hang")], { observers, tools: [tool("hang", () => new Promise(() => {}))] })
    const begun = new Promise<void>((resolve) => {
      void runtime.run({ task: "x", onEvent: ({ type }) => type === "tool-intent" && resolve() })
    })
    await begun
    expect(heard).not.toContain("flush begins")
    await runtime.close()
    expect(heard.slice(-3)).toEqual(["run-end", "flush begins", "flush ends"])
    expect(heard.filter((each) => each === "flush begins")).toHaveLength(1)
  })

  test("requests, caching and cost are reported as metrics, text and tools as events", {
    tags: ["OBS-03", "OBS-04", "OBS-05", "OBS-06"],
  }, async () => {
    const metrics: RunMetric[] = []
    const seen = new Set<string>()
    const observer = {
      deltas: false,
      recordEvent: ({ type }: RunEvent) => void seen.add(type),
      recordMetric: (metric: RunMetric) => void metrics.push(metric),
    }
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const { runtime } = setup(
      [
        { ...call("look"), usage },
        { parts: [{ text: '{"city":"Oslo"}' }], usage: { ...usage, cacheReadTokens: 7 } },
      ],
      {
        observers: [observer],
        resolvePricing: () => ({ input: 2, output: 4 }),
        tools: [tool("look", () => 1)],
        // A million tokens are more than the model's window is assumed to be.
        compaction: false,
      },
    )
    await runtime.run({ task: "x", outputSchema: city })
    expect(metrics.map(({ type }) => type)).toEqual([
      ...["request-start", "request-end", "cache-miss", "cost-add"],
      ...["request-start", "request-end", "cache-hit", "cost-add"],
    ])
    const last = metrics.at(-1)
    expect(last?.type === "cost-add" && last.totalUsd).toBeCloseTo(4.000014, 9)
    expect(metrics[0]).toMatchObject({ backend: "native", model: "scripted:scripted", at: expect.any(Number) })
    expect(metrics[1]).toMatchObject({ durationMs: expect.any(Number), turn: 1 })
    expect([...seen]).toEqual(expect.arrayContaining(["text-end", "tool-call", "tool-result", "usage", "run-end"]))
    expect([...seen]).not.toContain("text-delta")
  })

  test("the metrics observer counts runs, tokens, cost, cache, tools, errors and turns", {
    tags: ["OBS-02"],
  }, async () => {
    const metrics = createMetricsObserver()
    const usage = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 0 }
    const { runtime } = setup([{ ...call("look"), usage }, { ...call("nobody"), usage }, "ok"], {
      observers: [metrics],
      tools: [tool("look", () => 1)],
      resolvePricing: () => ({ input: 1, output: 1, cacheRead: 0 }),
    })
    await runtime.run({ task: "x", limits: { turns: 2 } })
    await runtime.run({ task: "x" })
    expect(metrics.snapshot()).toMatchObject({
      runs: { started: 2, done: 1, failed: 1, active: 0 },
      cache: { hits: 2, hitRatio: 2 / 3, readTokens: 60 },
      tools: { callsByName: { look: 1, nobody: 1 }, errorsByName: { nobody: 1 } },
      errors: { total: 1, byCode: { max_turns: 1 } },
      turns: { p50Ms: expect.any(Number), p95Ms: expect.any(Number) },
    })
  })

  test("problems during a run are in the event log", { tags: ["OBS-07"] }, async () => {
    const { runtime } = setup(["no", '{"city":"Oslo"}'])
    await runtime.run({ task: "x", runId: "r", outputSchema: city })
    const codes: string[] = []
    for await (const record of runtime.events("r")) if (record.type === "warning") codes.push(record.code)
    expect(codes).toEqual(["output_not_json"])
  })

  test("progress is reported as text for each text and each turn", { tags: ["RUN-21"] }, async () => {
    const told: string[] = []
    const { runtime } = setup([{ parts: [{ text: "Let me look." }, ...call("look").parts] }, "Found."], {
      tools: [tool("look", () => 1)],
    })
    await runtime.run({ task: "x", limits: { turns: 9 }, onProgress: (message) => told.push(message) })
    expect(told).toEqual([
      "Let me look.",
      "Turn 1 of at most 9 is complete.",
      "Found.",
      "Turn 2 of at most 9 is complete.",
    ])
  })
})

describe("attachments", () => {
  test("bytes and files are sent to the model as images, documents and text; unsupported types are rejected", async () => {
    const { model, runtime } = setup(["Seen."])
    const attachments = [
      { data: new Uint8Array([1, 2, 3]), mediaType: "image/png" },
      { data: "AQID", mediaType: "application/pdf", name: "a.pdf" },
      { data: new TextEncoder().encode("hello"), mediaType: "text/plain", name: "a.txt" },
    ]
    await runtime.run({ task: "What is this?", attachments })
    expect(model.calls[0]?.[0]?.content).toEqual([
      { type: "image", mediaType: "image/png", data: "AQID" },
      { type: "file", mediaType: "application/pdf", data: "AQID", name: "a.pdf" },
      { type: "text", text: "a.txt:\nhello" },
      { type: "text", text: "What is this?" },
    ])
    for (const attachment of [
      { data: "AQID", mediaType: "application/zip" },
      { data: "not base64!", mediaType: "image/png" },
      { path: "a.png" },
    ]) {
      const result = await runtime.run({ task: "x", attachments: [attachment] })
      expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid", fix: expect.any(String) } })
    }
  })
})

describe("concurrency", () => {
  test("at most the allowed number of runs is active; the others are queued and can be cancelled", async () => {
    let running = 0
    let most = 0
    const step: ScriptedStep = async () => {
      most = Math.max(most, ++running)
      await until(() => most >= 2)
      // Time in which one too many could start.
      await new Promise((done) => setTimeout(done, 5))
      running--
      return "ok"
    }
    const { runtime } = setup([step, step, step, step], { concurrency: 2 })
    const handles = Array.from({ length: 5 }, (_, index) => runtime.stream({ task: "x", runId: `r${index}` }))
    await Promise.resolve()
    expect(await runtime.status("r4")).toMatchObject({ status: "queued" })
    expect(handles[4]?.interrupt()).toBe(true)
    const results = await Promise.all(handles.map(({ result }) => result))
    expect(results.map(({ status }) => status)).toEqual(["done", "done", "done", "done", "cancelled"])
    expect(most).toBe(2)
  })
})

function withoutCacheCounts() {
  const model = scriptedModel(["x"])
  return {
    converse(setup: Parameters<typeof model.converse>[0]) {
      const conversation = model.converse(setup)
      return {
        async call(...given: Parameters<typeof conversation.call>) {
          const answer = await conversation.call(...given)
          return { ...answer, usage: { ...answer.usage, cacheReadTokens: null, cacheWriteTokens: null } }
        },
      }
    },
  }
}
