import { createParser, type EventSourceMessage } from "eventsource-parser"
import { expect, test } from "vitest"
import { serve } from "../hosts/node/http/serve.ts"
import type { SimulatedAnswer, SimulatedRequest, SimulatorOptions } from "./index.ts"
import { createSimulator, renderAnswer } from "./index.ts"

const headers = { "x-api-key": "key", "anthropic-version": "2023-06-01", "content-type": "application/json" }
const hello = { model: "claude-x", max_tokens: 100, stream: true, messages: [{ role: "user", content: "hello" }] }

test("the simulator streams text, reasoning and a call like the Messages API", async () => {
  const answer: SimulatedAnswer = {
    parts: [
      { reasoning: "Let me see what is there.", signature: "c2ln" },
      { text: "I look at the file, naïvely 🎉🎉🎉." },
      { toolCall: { name: "Read", args: { path: "notes.md", limit: 3 }, id: "toolu_1" } },
    ],
    usage: { inputTokens: 25, outputTokens: 40, cacheReadTokens: 7, cacheWriteTokens: 3 },
    deltaSize: 5,
  }
  const simulator = createSimulator({ script: () => answer })
  const response = await post(simulator.fetch, hello)
  expect(response.status).toBe(200)
  expect(response.headers.get("content-type")).toContain("text/event-stream")
  expect(response.headers.get("request-id")).toBe("req_sim_000000")
  const text = await response.text()
  expect(text).toBe(renderAnswer(answer, simulator.requests[0]))

  const events = parseEvents(text)
  for (const { event, data } of events) expect(JSON.parse(data).type).toBe(event)
  expect(events.map(({ event }) => event).filter((event, index, all) => event !== all[index - 1])).toEqual([
    ...["message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop"],
    ...["content_block_start", "content_block_delta", "content_block_stop"],
    ...["content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"],
  ])
  const [start] = dataOf(events, "message_start")
  expect(start.message).toMatchObject({ role: "assistant", model: "claude-x", content: [], stop_reason: null })
  const inputUsage = { input_tokens: 25, cache_creation_input_tokens: 3, cache_read_input_tokens: 7 }
  expect(start.message.usage).toEqual({ ...inputUsage, output_tokens: 1 })
  expect(dataOf(events, "content_block_start").map((data) => data.content_block)).toEqual([
    { type: "thinking", thinking: "", signature: "" },
    { type: "text", text: "" },
    { type: "tool_use", id: "toolu_1", name: "Read", input: {} },
  ])
  const deltas = dataOf(events, "content_block_delta")
  const joined = (field: string) => deltas.map((data) => data.delta[field] ?? "").join("")
  expect(joined("thinking")).toBe("Let me see what is there.")
  expect(joined("signature")).toBe("c2ln")
  expect(joined("text")).toBe("I look at the file, naïvely 🎉🎉🎉.")
  expect(deltas.every((data) => !/[\ud800-\udbff]$/.test(data.delta.text ?? ""))).toBe(true)
  expect(JSON.parse(joined("partial_json"))).toEqual({ path: "notes.md", limit: 3 })
  expect(dataOf(events, "message_delta")).toEqual([
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { ...inputUsage, output_tokens: 40 },
    },
  ])
})

test("the simulator sends a call without arguments as one empty piece, and raw arguments unchanged", () => {
  const pieces = (answer: SimulatedAnswer) =>
    dataOf(parseEvents(renderAnswer(answer)), "content_block_delta").map((data) => data.delta.partial_json)
  expect(pieces({ parts: [{ toolCall: { name: "Now", args: {} } }] })).toEqual([""])
  expect(pieces({ parts: [{ toolCall: { name: "Now", rawArgs: '{"path": no' } }] }).join("")).toBe('{"path": no')
})

test("the simulator translates stop reasons and passes unknown ones on", () => {
  const stopReason = (answer: SimulatedAnswer) =>
    dataOf(parseEvents(renderAnswer(answer)), "message_delta")[0].delta.stop_reason
  expect(stopReason("done")).toBe("end_turn")
  expect(stopReason({ parts: [], stopReason: "output-limit" })).toBe("max_tokens")
  expect(stopReason({ parts: [], stopReason: "context-overflow" })).toBe("model_context_window_exceeded")
  expect(stopReason({ parts: [], wireStopReason: "from_the_future" })).toBe("from_the_future")
})

test("the simulator gives the script all messages, calls and results, and new ids to new calls", async () => {
  const seen: SimulatedRequest[] = []
  const simulator = createSimulator({
    script: (request) => {
      seen.push(request)
      return { parts: [{ text: `saw ${request.lastToolResults[0]?.text}` }, { toolCall: { name: "Read", args: {} } }] }
    },
  })
  const response = await post(simulator.fetch, {
    ...hello,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    tools: [{ name: "Read", description: "Reads.", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: "what is in a.md?" },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_sim_1", name: "Read", input: { path: "a.md" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_sim_1", content: "A", is_error: true }] },
    ],
  })
  const events = parseEvents(await response.text())
  expect(
    dataOf(events, "content_block_delta")
      .map((data) => data.delta.text ?? "")
      .join(""),
  ).toBe("saw A")
  expect(dataOf(events, "content_block_start")[1].content_block.id).toBe("toolu_sim_2")
  expect(seen[0]).toBe(simulator.requests[0])
  expect(seen[0]).toMatchObject({
    index: 0,
    protocol: "anthropic",
    path: "/v1/messages",
    model: "claude-x",
    system: "Be brief.",
    tools: [{ name: "Read", description: "Reads.", inputSchema: { type: "object" } }],
    lastToolResults: [{ id: "toolu_sim_1", text: "A", isError: true }],
    lastUserText: "what is in a.md?",
  })
  expect(seen[0]?.headers["x-api-key"]).toBe("key")
  expect(seen[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
  expect(seen[0]?.messages[1]?.toolCalls).toEqual([{ id: "toolu_sim_1", name: "Read", args: { path: "a.md" } }])
})

test("the simulator responds in the protocol's format to a missing key, wrong key, unknown path or invalid JSON", async () => {
  const simulator = createSimulator({ script: () => "never", apiKey: "right" })
  const { fetch } = simulator
  const version = { "anthropic-version": "2023-06-01" }
  const url = "http://model/v1/messages"
  const send = async (path: string, init: RequestInit) => shown(await fetch(`http://model${path}`, init))
  const body = JSON.stringify(hello)
  expect(await send("/v1/messages", { method: "POST", headers: version, body })).toMatchObject({
    status: 401,
    body: { type: "error", error: { type: "authentication_error" }, request_id: "req_sim_000000" },
  })
  expect(await send("/v1/messages", { method: "POST", headers, body })).toMatchObject({
    status: 401,
    body: { error: { message: "invalid x-api-key" } },
  })
  const bearer = await fetch(url, { method: "POST", headers: { ...version, authorization: "Bearer right" }, body })
  expect(bearer.status).toBe(200)
  expect(await send("/v1/nothing", { method: "POST", headers, body })).toMatchObject({
    status: 404,
    body: { error: { type: "not_found_error" } },
  })
  expect(await send("/v1/messages", { method: "POST", headers, body: "{" })).toMatchObject({
    status: 400,
    body: { error: { type: "invalid_request_error" } },
  })
  expect(simulator.requests.map(({ protocol }) => protocol)).toEqual([
    ...["anthropic", "anthropic", "anthropic", "unknown", "anthropic"],
  ])
})

test("the simulator responds with 400 if the script throws, so that test mistakes are not retried", async () => {
  const simulator = createSimulator({
    script: () => {
      throw new Error("no such scene")
    },
  })
  expect(await shown(await post(simulator.fetch, hello))).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining("no such scene") } },
  })
})

test("the simulator works as fetch: an abort ends a stalled body and a pending script", async () => {
  const pending = createSimulator({ script: () => new Promise(() => {}) })
  const stalled = createSimulator({ script: () => "hello", faults: [{ kind: "stall", atByte: 10 }] })
  const abort = new AbortController()
  const body = (await post(stalled.fetch, hello, abort.signal)).text()
  const head = post(pending.fetch, hello, abort.signal)
  setTimeout(() => abort.abort(new Error("enough")), 5)
  await expect(body).rejects.toThrow("enough")
  await expect(head).rejects.toThrow("enough")
})

test("the simulator serves the same over a socket, chunk by chunk", async () => {
  const options: SimulatorOptions = { script: ({ lastUserText }) => `You said: ${lastUserText}` }
  const simulator = createSimulator(options)
  const server = await serve(simulator.fetch)
  const response = await post((input, init) => fetch(`${server.url}${new URL(input).pathname}`, init), hello)
  expect(await response.text()).toBe(renderAnswer("You said: hello", simulator.requests[0]))
  await server.close()
})

type Fetch = (input: string, init: RequestInit) => Promise<Response>

function post(fetch: Fetch, body: object, signal?: AbortSignal): Promise<Response> {
  const init = { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) }
  return fetch("http://model/v1/messages", init)
}

async function shown(response: Response): Promise<{ readonly status: number; readonly body: unknown }> {
  return { status: response.status, body: await response.json() }
}

function parseEvents(text: string): readonly EventSourceMessage[] {
  const events: EventSourceMessage[] = []
  createParser({ onEvent: (event) => events.push(event) }).feed(text)
  return events
}

function dataOf(events: readonly EventSourceMessage[], type: string) {
  return events.filter(({ event }) => event === type).map(({ data }) => JSON.parse(data))
}
