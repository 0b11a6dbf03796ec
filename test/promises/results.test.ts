import { expect, test } from "vitest"
import { createRuntime, defineTool, type RunInput, type RunResult, type RuntimeConfig } from "../../src/index.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"

const call = (name: string) => ({ parts: [{ toolCall: { name, args: { n: 1 } } }] })
const tools = [
  defineTool({ name: "note", description: "notes", input: { type: "object" }, run: () => "noted" }),
  defineTool({ name: "hang", description: "hangs", input: { type: "object" }, run: () => new Promise(() => {}) }),
  defineTool({
    name: "fail",
    description: "fails",
    input: { type: "object" },
    run() {
      throw new Error("broken")
    },
  }),
]

async function finish(steps: ScriptedStep[], config: RuntimeConfig = {}, input: Partial<RunInput> = {}) {
  const model = scriptedModel(steps)
  const runtime = createRuntime({ model, tools, ...config })
  const result = await runtime.run({ task: "Do it", ...input } as RunInput)
  const records = []
  for await (const record of runtime.events(result.runId)) records.push(record)
  return { result, records, model }
}

const endings: Readonly<Record<string, () => ReturnType<typeof finish>>> = {
  done: () => finish([call("note"), "All done."]),
  max_turns: () => finish([call("note")], { limits: { turns: 1 } }),
  run_timeout: () => finish([call("hang")], { limits: { timeMs: 30 } }),
  cancelled: () => finish([call("hang")], {}, { signal: AbortSignal.timeout(30) }),
  output_limit: () => finish(Array(4).fill({ parts: [{ text: "cut" }], stopReason: "output-limit" })),
}

test("RES-04 every result has one flat, JSON-safe shape; only `error` is optional", async () => {
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
    "backend capabilitiesUsed data durationMs model nodeId runId sessionId status text timestamp toolCalls transcript turns usage warnings",
  ])
  expect(statuses).toEqual(["done", "failed", "failed", "cancelled", "failed"])
})

test("RES-01 a result contains text, usage, cost, errors, model and session", async () => {
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

test("RES-02 usage has four exclusive buckets, summed over the turns, and a cost that may be unknown", async () => {
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

test("RES-06 RES-07 a done run has its text as data, and reports turns, time and transcript path", async () => {
  const { result } = await finish([call("note"), "All done."], {}, { runId: "r1", nodeId: "n1" })
  expect(result).toMatchObject({ runId: "r1", nodeId: "n1", status: "done", data: "All done.", text: "All done." })
  expect(result).toMatchObject({
    turns: 2,
    transcript: { path: expect.stringContaining("projects/r1/nodes/n1"), lastShard: 0 },
  })
  expect(result.durationMs).toBeGreaterThanOrEqual(0)
})

test("RES-10 RES-11 only an unfinished run has an error, and then no data; timestamps are Unix ms", async () => {
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

test("RES-12 RES-14 a result names backend, model and session, and every call with its outcome", async () => {
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

test("RES-14 a call that never started is denied, one that was stopped midway is unknown", async () => {
  const both = { parts: [{ toolCall: { name: "hang", args: {} } }, { toolCall: { name: "note", args: {} } }] }
  const { result } = await finish([both], { limits: { timeMs: 30 } })
  expect(result.toolCalls).toMatchObject([
    { name: "hang", status: "unknown", error: expect.any(String) },
    { name: "note", status: "denied", error: expect.any(String) },
  ])
})

test("RES-13 complete, interrupted, error, turn limit and timeout are distinguishable", async () => {
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
  ])
})

test("LOOP-01 every started run opens with run-start and ends with run-end, even if it fails", async () => {
  for (const end of Object.values(endings)) {
    const { result, records } = await end()
    const types = records.map(({ type }) => type)
    expect(types.slice(0, 4)).toEqual(["run-start", "choice", "session", "turn-start"])
    expect(types.lastIndexOf("run-end")).toBe(types.length - 1)
    expect(types.indexOf("run-end")).toBe(types.length - 1)
    expect(records.at(-1)).toMatchObject({ type: "run-end", status: result.status })
  }
})

test("LOOP-11 an answer without calls ends the run, with as many turns as answers", async () => {
  expect((await finish(["at once"])).result).toMatchObject({ status: "done", turns: 1 })
  expect((await finish([call("note"), call("note"), "third"])).result).toMatchObject({ status: "done", turns: 3 })
})

test("LOOP-12 a run out of turns reports it as text, with its work so far", async () => {
  const { result } = await finish([call("note"), call("note")], { limits: { turns: 2 } })
  expect(result).toMatchObject({ status: "failed", turns: 2, data: null })
  expect(result.error?.message).toBe("Maximum turns reached: 2.")
})

test("LOOP-13 a result is sent back in a message of role tool with the call's id", async () => {
  const { model } = await finish([call("note"), "done"])
  expect(model.calls[1]?.slice(1)).toMatchObject([
    { role: "assistant", content: [{ type: "tool-call", callId: "1.0" }] },
    { role: "tool", content: [{ type: "tool-result", callId: "1.0", output: [{ text: "noted" }] }] },
  ])
})

test("LOOP-05 a result of more than 100,000 characters reaches the model cut, with a notice", async () => {
  const long = defineTool({
    name: "long",
    description: "long",
    input: { type: "object" },
    run: () => "x".repeat(250_000),
  })
  const { result, model } = await finish([call("long"), "done"], { tools: [long] })
  const text = result.toolCalls[0]?.result ?? ""
  expect(text.length).toBeLessThanOrEqual(100_000)
  expect(text).toMatch(/x\n\[cut: \d+ bytes omitted\]$/)
  const last = model.calls[1]?.at(-1)
  expect(last?.role === "tool" && last.content[0]?.output[0]).toEqual({ type: "text", text })
})

test("RUN-11 the run's id appears in tools, records and keys", async () => {
  const seen: object[] = []
  const spy = defineTool({
    name: "spy",
    description: "spy",
    input: { type: "object" },
    run(_, { runId, callId, idempotencyKey }) {
      seen.push({ runId, callId, idempotencyKey })
      return ""
    },
  })
  const { records } = await finish([call("spy"), "done"], { tools: [spy] }, { runId: "ticket-7" })
  expect(seen).toEqual([{ runId: "ticket-7", callId: "1.0", idempotencyKey: "ticket-7/main/1.0" }])
  expect(records[0]).toMatchObject({ type: "run-start", runId: "ticket-7", nodeId: "main" })
})

test("HOST-14 the model's text is returned verbatim: no trimming, no parsing", async () => {
  const said = '  {"answer": 42}\n\n```json\n{}\n```  \n'
  expect((await finish([said])).result).toMatchObject({ data: said, text: said })
})
