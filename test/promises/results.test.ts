import { expect, test } from "vitest"
import { native } from "../../src/backends/native/index.ts"
import type { Backend } from "../../src/contract/backend.ts"
import {
  createRuntime,
  defineTool,
  type Hooks,
  LonghaulError,
  type RunInput,
  type RunResult,
  type RuntimeConfig,
} from "../../src/index.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { LONG_LIMIT_MS, withTimeLimit } from "../support/time-limit.ts"

const call = (name: string) => ({ parts: [{ toolCall: { name, args: { n: 1 } } }] })
/** Called when the tool that never returns has begun. */
let onHang: () => void = () => {}

const tools = [
  defineTool({ name: "note", description: "notes", inputSchema: { type: "object" }, run: () => "noted" }),
  defineTool({
    name: "hang",
    description: "hangs",
    inputSchema: { type: "object" },
    run: () => new Promise(() => onHang()),
  }),
  defineTool({
    name: "fail",
    description: "fails",
    inputSchema: { type: "object" },
    run() {
      throw new Error("broken")
    },
  }),
]

/** Beside what an ending sets itself. */
let hostConfig: RuntimeConfig = {}

async function finish(steps: ScriptedStep[], config: RuntimeConfig = {}, input: Partial<RunInput> = {}) {
  const model = scriptedModel(steps)
  const runtime = createRuntime({ model, tools, ...hostConfig, ...config })
  const result = await runtime.run({ task: "Do it", ...input } as RunInput)
  const records = []
  for await (const record of runtime.events(result.runId)) records.push(record)
  return { result, records, model }
}

/** A run whose time limit passes while its tool hangs. */
function timedOut(step: ScriptedStep) {
  return withTimeLimit((pass) => {
    onHang = pass
    return finish([step], { limits: { timeMs: LONG_LIMIT_MS } })
  })
}

const endings: Readonly<Record<string, () => ReturnType<typeof finish>>> = {
  done: () => finish([call("note"), "All done."]),
  max_turns: () => finish([call("note")], { limits: { turns: 1 } }),
  run_timeout: () => timedOut(call("hang")),
  cancelled: () => {
    const stop = new AbortController()
    onHang = () => stop.abort()
    return finish([call("hang")], {}, { signal: stop.signal })
  },
  output_limit: () => finish(Array(4).fill({ parts: [{ text: "cut" }], stopReason: "output-limit" })),
  budget_exceeded: () => finish([{ ...call("note"), usage: { inputTokens: 600 } }], { limits: { tokens: 500 } }),
  auth: () => finish([{ fail: new LonghaulError("auth", "no such key") }]),
}

test("every result has one flat, JSON-safe shape; only `error` is optional", { tags: ["RES-04"] }, async () => {
  const shapes = new Set<string>()
  const statuses: string[] = []
  for (const end of Object.values(endings)) {
    const { result } = await end()
    expect(JSON.parse(JSON.stringify(result))).toEqual(result)
    statuses.push(result.status)
    shapes.add(
      Object.keys(result)
        .filter((key) => key !== "error")
        .sort()
        .join(" "),
    )
  }
  expect([...shapes]).toEqual([
    "backend capabilitiesUsed data durationMs enforcement failover model nodeId runId sessionId status text timestamp toolCallCount toolCalls transcript turns usage warnings workspaceId",
  ])
  expect(statuses).toEqual(["done", "failed", "failed", "cancelled", "failed", "failed", "failed"])
})

test("a result contains text, usage, cost, errors, model and session", { tags: ["RES-01"] }, async () => {
  const { result } = await finish([
    { parts: [{ reasoning: "hm", signature: "s" }, ...call("fail").parts], usage: { cacheReadTokens: 5 } },
    "All done.",
  ])
  expect(result).toMatchObject({
    text: "All done.",
    usage: { cacheReadTokens: 5 },
    durationMs: expect.any(Number),
    turns: 2,
    model: "scripted",
    backend: "native",
    sessionId: expect.stringMatching(/^[0-9a-f]{32}$/),
    warnings: [],
    capabilitiesUsed: { promptCache: true, thinking: true },
  })
  const plain = await finish(["No thinking, no cache."])
  expect(plain.result.capabilitiesUsed).toMatchObject({ promptCache: false, thinking: false })
  expect((await endings.max_turns?.())?.result.error).toMatchObject({ code: "max_turns", retryable: false })
})

test("usage has four exclusive buckets, summed over the turns, and a cost that may be unknown", {
  tags: ["RES-02"],
}, async () => {
  const usage = { inputTokens: 1, outputTokens: 20, cacheReadTokens: 300, cacheWriteTokens: 4000 }
  const { result } = await finish([
    { ...call("note"), usage },
    { parts: [{ text: "done" }], usage },
  ])
  expect(result.usage).toEqual({
    inputTokens: 2,
    outputTokens: 40,
    cacheReadTokens: 600,
    cacheWriteTokens: 8000,
    costUsd: null,
  })
})

test("a done run has its text as data, and reports turns, time and transcript path", {
  tags: ["RES-06", "RES-07"],
}, async () => {
  const { result } = await finish([call("note"), "All done."], {}, { runId: "r1", nodeId: "n1" })
  expect(result).toMatchObject({ runId: "r1", nodeId: "n1", status: "done", data: "All done.", text: "All done." })
  expect(result).toMatchObject({
    turns: 2,
    transcript: { path: expect.stringContaining("projects/r1/nodes/n1"), lastShard: 0 },
  })
  expect(result.durationMs).toBeGreaterThanOrEqual(0)
})

test("only an unfinished run has an error, and then no data; timestamps are Unix ms", {
  tags: ["RES-10", "RES-11"],
}, async () => {
  const before = Date.now()
  for (const [code, end] of Object.entries(endings)) {
    const { result } = await end()
    expect(result.timestamp).toBeGreaterThanOrEqual(before)
    expect(result.timestamp).toBeLessThanOrEqual(Date.now())
    if (code === "done") {
      expect(result).not.toHaveProperty("error")
    } else {
      expect(result.data).toBeNull()
      expect(result.error).toMatchObject({ code, message: expect.any(String), retryable: false })
    }
  }
})

test("a result adds up tokens, cost and turns of its answers, and has the session and duration of its records", {
  tags: ["RES-12"],
}, async () => {
  const usage = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens, cacheReadTokens: 4 })
  const { result, records } = await finish(
    [
      { ...call("note"), usage: usage(100, 20) },
      { parts: [{ text: "done" }], usage: usage(300, 50) },
    ],
    { resolvePricing: () => ({ input: 1000, output: 2000, cacheRead: 0 }) },
  )
  expect(result).toMatchObject({ status: "done", text: "done", data: "done", turns: 2, model: "scripted" })
  expect(result).toMatchObject({ usage: { inputTokens: 400, outputTokens: 70, cacheReadTokens: 8 } })
  expect(result.usage.costUsd).toBeCloseTo(0.4 + 0.14, 12)
  const session = records.find((record) => record.type === "session")
  const choice = records.find((record) => record.type === "choice")
  expect(session).toBeDefined()
  expect([result.sessionId, result.backend]).toEqual([session?.ref.id, choice?.backend])
  expect(result.durationMs).toBe((records.at(-1)?.at ?? Number.NaN) - (records[0]?.at ?? 0))
})

test("a failed result has the code and the words of its error, and what it did until then", {
  tags: ["RES-12"],
}, async () => {
  const { result } = await finish([
    { ...call("note"), usage: { inputTokens: 7 } },
    { fail: new LonghaulError("auth", "no such key") },
  ])
  expect(result).toMatchObject({ status: "failed", turns: 1, usage: { inputTokens: 7 }, backend: "native" })
  expect(result.error).toMatchObject({ code: "auth", message: "no such key" })
  expect(result.toolCalls).toMatchObject([{ name: "note", status: "ok" }])
})

test("a result names backend, model and session, and every call with its outcome", {
  tags: ["RES-12", "RES-14"],
}, async () => {
  const { result } = await finish([
    {
      parts: [{ toolCall: { name: "note", args: { n: 1 } } }, { toolCall: { name: "fail", args: {} } }],
    },
    "done",
  ])
  expect(result).toMatchObject({
    status: "done",
    text: "done",
    turns: 2,
    backend: "native",
    model: "scripted",
    sessionId: expect.any(String),
    durationMs: expect.any(Number),
    usage: { costUsd: null },
  })
  expect(result.toolCalls).toEqual([
    { id: "1.0", name: "note", args: { n: 1 }, result: "noted", status: "ok", durationMs: expect.any(Number) },
    {
      id: "1.1",
      name: "fail",
      args: {},
      result: expect.stringContaining("internal"),
      status: "error",
      durationMs: expect.any(Number),
      error: expect.stringContaining("internal"),
    },
  ])
})

test("a call that never started is denied, one that was stopped midway is unknown", { tags: ["RES-14"] }, async () => {
  const both = { parts: [{ toolCall: { name: "hang", args: {} } }, { toolCall: { name: "note", args: {} } }] }
  const { result } = await timedOut(both)
  expect(result.toolCalls).toMatchObject([
    { name: "hang", status: "unknown", error: expect.any(String) },
    { name: "note", status: "denied", error: expect.any(String) },
  ])
})

test("a budget in dollars ends a run like one in tokens, and says which of the two it was", {
  tags: ["RES-13"],
}, async () => {
  const step = { ...call("note"), usage: { inputTokens: 1_000_000, outputTokens: 0 } }
  const limits = { usd: 0.5 }
  const { result } = await finish([step], { limits, resolvePricing: () => ({ input: 1, output: 1 }) })
  expect(result).toMatchObject({ status: "failed", turns: 1, usage: { costUsd: 1 } })
  expect(result.error).toMatchObject({ code: "budget_exceeded", fix: "Raise limits.usd." })
  const { result: byTokens } = await (endings.budget_exceeded as () => ReturnType<typeof finish>)()
  expect(byTokens.error).toMatchObject({ code: "budget_exceeded", fix: "Raise limits.tokens." })
})

test("complete, interrupted, error, turn limit, budget and timeout are distinguishable", {
  tags: ["RES-13"],
}, async () => {
  const told: [RunResult["status"], string | undefined][] = []
  for (const end of Object.values(endings)) {
    const { status, error } = (await end()).result
    told.push([status, error?.code])
  }
  expect(told).toEqual([
    ["done", undefined],
    ["failed", "max_turns"],
    ["failed", "run_timeout"],
    ["cancelled", "cancelled"],
    ["failed", "output_limit"],
    ["failed", "budget_exceeded"],
    ["failed", "auth"],
  ])
})

test("every started run opens with run-start and ends with run-end, even if it fails", {
  tags: ["LOOP-01"],
}, async () => {
  for (const end of Object.values(endings)) {
    const { result, records } = await end()
    const types = records.map(({ type }) => type)
    expect(types.slice(0, 4)).toEqual(["run-start", "choice", "session", "turn-start"])
    expect(types.lastIndexOf("run-end")).toBe(types.length - 1)
    expect(types.indexOf("run-end")).toBe(types.length - 1)
    expect(records.at(-1)).toMatchObject({ type: "run-end", status: result.status })
  }
})

test("preRun, session, turns, close of the session, postRun, result: in this order, whatever ends the run", {
  tags: ["LOOP-01"],
}, async () => {
  for (const [ending, end] of Object.entries(endings)) {
    const order: string[] = []
    hostConfig = { backend: noting(order, native()), hooks: hooksNoting(order) }
    const { result } = await end().finally(() => {
      hostConfig = {}
    })
    order.push(`result ${result.error?.code ?? result.status}`)
    const turns = order.filter((step) => step === "turn")
    expect(order, ending).toEqual(["preRun", "open", ...turns, "close", "postRun", `result ${ending}`])
    expect(turns.length, ending).toBeGreaterThan(0)
  }
})

test.each(["open", "run", "close"] as const)(
  "a backend that throws in %s still gives a result, after postRun, with an end on record",
  { tags: ["LOOP-01"] },
  async (place) => {
    const order: string[] = []
    const backend = noting(order, native(), place)
    const { result, records } = await finish(["done"], { backend, hooks: hooksNoting(order) })
    expect(result).toMatchObject({ status: "failed", error: { code: "backend_crashed" } })
    expect(records.at(-1)).toMatchObject({ type: "run-end", status: "failed" })
    expect(order.at(0)).toBe("preRun")
    expect(order.at(-1)).toBe("postRun")
    expect(order.filter((step) => step === "postRun")).toHaveLength(1)
    if (place === "run") expect(order).toContain("close")
  },
)

function hooksNoting(order: string[]): Hooks {
  const note = (name: string) => () => void order.push(name)
  return { preRun: note("preRun"), preTurn: note("turn"), postRun: note("postRun") }
}

/** Notes when its sessions are opened and closed, and throws at one place if told to. */
function noting(order: string[], backend: Backend, broken?: "open" | "run" | "close"): Backend {
  const at = (place: "open" | "run" | "close") => {
    if (broken === place) throw new TypeError("broken backend")
  }
  return {
    ...backend,
    async open(request, services) {
      at("open")
      order.push("open")
      const session = await backend.open(request, services)
      const close = session.close.bind(session)
      const run = session.run.bind(session)
      return Object.assign(session, {
        async run(...given: Parameters<typeof run>) {
          at("run")
          return run(...given)
        },
        async close() {
          await close()
          order.push("close")
          at("close")
        },
      })
    },
  }
}

test("an answer without calls ends the run, with as many turns as answers", { tags: ["LOOP-11"] }, async () => {
  expect((await finish(["at once"])).result).toMatchObject({ status: "done", turns: 1 })
  expect((await finish([call("note"), call("note"), "third"])).result).toMatchObject({ status: "done", turns: 3 })
})

test("a run out of turns reports it as text, with its work so far", { tags: ["LOOP-12"] }, async () => {
  const { result } = await finish([call("note"), call("note")], { limits: { turns: 2 } })
  expect(result).toMatchObject({ status: "failed", turns: 2, data: null })
  expect(result.error?.message).toBe("Maximum turns reached: 2.")
})

test("a result is sent back in a message of role tool with the call's id", { tags: ["LOOP-13"] }, async () => {
  const { model } = await finish([call("note"), "done"])
  expect(model.calls[1]?.slice(1)).toMatchObject([
    { role: "assistant", content: [{ type: "tool-call", callId: "1.0" }] },
    { role: "tool", content: [{ type: "tool-result", callId: "1.0", output: [{ text: "noted" }] }] },
  ])
})

test("a result of more than 100,000 characters reaches the model cut, with a notice", {
  tags: ["LOOP-05"],
}, async () => {
  const long = defineTool({
    name: "long",
    description: "long",
    inputSchema: { type: "object" },
    run: () => "x".repeat(250_000),
  })
  const { result, model } = await finish([call("long"), "done"], { tools: [long] })
  const text = result.toolCalls[0]?.result ?? ""
  expect(text.length).toBeLessThanOrEqual(100_000)
  expect(text).toMatch(/x\n\[cut: \d+ bytes omitted\]$/)
  const last = model.calls[1]?.at(-1)
  expect(last?.role === "tool" && last.content[0]?.output[0]).toEqual({ type: "text", text })
})

test("the run's id appears in tools, records and keys", { tags: ["RUN-11"] }, async () => {
  const seen: object[] = []
  const spy = defineTool({
    name: "spy",
    description: "spy",
    inputSchema: { type: "object" },
    run(_, { runId, callId, idempotencyKey }) {
      seen.push({ runId, callId, idempotencyKey })
      return ""
    },
  })
  const { records } = await finish([call("spy"), "done"], { tools: [spy] }, { runId: "ticket-7" })
  const idempotencyKey = expect.stringMatching(/^[0-9a-f]{32}\/ticket-7\/main\/1\.0$/)
  expect(seen).toEqual([{ runId: "ticket-7", callId: "1.0", idempotencyKey }])
  expect(records[0]).toMatchObject({ type: "run-start", runId: "ticket-7", nodeId: "main" })
})

test("the model's text is returned verbatim: no trimming, no parsing", { tags: ["HOST-14"] }, async () => {
  const said = '  {"answer": 42}\n\n```json\n{}\n```  \n'
  expect((await finish([said])).result).toMatchObject({ data: said, text: said })
})
