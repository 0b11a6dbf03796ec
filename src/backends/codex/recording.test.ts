import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { recording } from "../../../test/support/codex-recording.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { Recording } from "./recording.ts"

const notifications = readFileSync(new URL("__fixtures__/turn-0.166.0.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { readonly method: string; readonly params: Json })

const turnId = "01a1e59e-fee8-71c3-bde9-9d568f3822c5"
const own = (callId: string) => ({ callId, name: "Bash", args: {} })

/** The recorded turn, with the questions about its calls where they were asked. */
async function replay({ subject }: ReturnType<typeof recording>) {
  for (const { method, params } of notifications) {
    const text = JSON.stringify(params)
    const callId = /:(call_sim_\d)"/.exec(text)?.[1]
    if (method === "hook/completed" && callId !== undefined) {
      await subject.addCall(own(callId), callId === "call_sim_1" ? undefined : "backend")
      if (callId === "call_sim_1") subject.settled(callId, { status: "ok", output: [] }, true)
    }
    subject.take(method, params, turnId)
  }
  await subject.enqueue(() => {})
}

test("a recorded turn becomes three steps, with its calls before their results and its usage once", async () => {
  const scene = recording()
  await replay(scene)
  expect(scene.events.map((event) => ("callId" in event ? `${event.type} ${event.callId}` : event.type))).toEqual([
    "begin",
    "reasoning-end",
    "text-end",
    "metering",
    "tool-call call_sim_1",
    "tool-call call_sim_0",
    "tool-result call_sim_0",
    // The usage of the next answer is reported before its first call.
    "metering",
    "usage",
    "begin",
    "tool-call call_sim_2",
    "tool-result call_sim_2",
    "usage",
    "begin",
    "text-end",
    "metering",
  ])
  const metered = scene.events.flatMap((event) => (event.type === "metering" && "usage" in event ? [event.usage] : []))
  expect(metered.reduce((sum, { outputTokens }) => sum + (outputTokens ?? 0), 0)).toBe(85)
  expect(scene.subject.finalText).toMatch(/^Results:/)
  expect(scene.stops).toEqual([])
})

test("an answer beyond the turn limit halts the run, and its calls must not run", async () => {
  const scene = recording({ turns: 1 })
  await replay(scene)
  expect(scene.stops[0]).toEqual({ reason: "limit" })
  expect(await scene.subject.addCall(own("late"), "backend")).toBe(false)
})

test("an item that ran without permission fails the run", async () => {
  const scene = recording({ permitted: ["call_sim_0"] })
  await replay(scene)
  expect(scene.stops).toMatchObject([{ reason: "failed", failure: { code: "backend_protocol" } }])
})

test("an item that Codex declined without asking is no call of the run, and has no result", async () => {
  const { subject, events, stops } = recording()
  subject.take("item/completed", { item: { type: "commandExecution", id: "x", status: "declined" } }, turnId)
  await subject.enqueue(() => {})
  expect([events, stops]).toEqual([[], []])
})

const raw = (callId: string) => ({ item: { type: "function_call", call_id: callId, arguments: "{}" } })

/** Waits for what is under way, and says whether a session may be suspended. */
async function settled(subject: Recording, idle: { isIdle: boolean }): Promise<boolean> {
  await subject.enqueue(() => {})
  await Promise.resolve()
  return idle.isIdle
}

function waiting(subject: Recording): { isIdle: boolean } {
  const idle = { isIdle: false }
  void subject.whenIdle().then(() => {
    idle.isIdle = true
  })
  return idle
}

test("a suspended call waits until the answer is received, and for the other calls in it", async () => {
  const { subject } = recording()
  subject.take("rawResponseItem/completed", raw("a"), turnId)
  await subject.addCall(own("a"), "backend")
  subject.leaveOpen("a")
  const idle = waiting(subject)
  expect(await settled(subject, idle)).toBe(false)
  subject.take("rawResponseItem/completed", raw("b"), turnId)
  subject.take("rawResponse/completed", {}, turnId)
  expect(await settled(subject, idle)).toBe(false)
  await subject.addCall(own("b"), "backend")
  expect(await settled(subject, idle)).toBe(false)
  subject.addResult("b", { status: "ok", output: [] })
  expect(await settled(subject, idle)).toBe(true)
  expect(subject.results).toMatchObject([{ callId: "b", isAnswered: true }])
})

test("a suspended call waits until each of the other calls of its answer has ended", async () => {
  const { subject } = recording()
  for (const callId of ["a", "b", "c"]) await subject.addCall(own(callId), "backend")
  subject.take("rawResponse/completed", {}, turnId)
  subject.leaveOpen("a")
  const idle = waiting(subject)
  subject.addResult("b", { status: "ok", output: [] })
  expect(await settled(subject, idle)).toBe(false)
  subject.addResult("c", { status: "ok", output: [] })
  expect(await settled(subject, idle)).toBe(true)
})

test("a suspended call waits for a call whose hook Codex has started", async () => {
  const { subject } = recording()
  const run = { id: "pre-tool-use:0:/config.toml:b", eventName: "preToolUse", sourcePath: "/config.toml" }
  await subject.addCall(own("a"), "backend")
  subject.take("hook/started", { run }, turnId)
  subject.take("rawResponse/completed", {}, turnId)
  subject.leaveOpen("a")
  const idle = waiting(subject)
  expect(await settled(subject, idle)).toBe(false)
  await subject.addCall(own("b"), "backend")
  subject.addResult("b", { status: "ok", output: [] })
  expect(await settled(subject, idle)).toBe(true)
})

test("a suspended call does not wait for an invalid call, which has an output without a question", async () => {
  const { subject } = recording()
  subject.take("rawResponseItem/completed", raw("a"), turnId)
  subject.take("rawResponseItem/completed", raw("invalid"), turnId)
  subject.take("rawResponse/completed", {}, turnId)
  await subject.addCall(own("a"), "backend")
  subject.leaveOpen("a")
  const idle = waiting(subject)
  expect(await settled(subject, idle)).toBe(false)
  subject.take("rawResponseItem/completed", { item: { type: "function_call_output", call_id: "invalid" } }, turnId)
  expect(await settled(subject, idle)).toBe(true)
})

test("a suspended call waits only for some time for a call that Codex never asks about", async () => {
  const { subject } = recording({ stopMs: 1 })
  subject.take("rawResponseItem/completed", raw("never asked"), turnId)
  await subject.addCall(own("a"), "backend")
  subject.leaveOpen("a")
  await subject.whenIdle()
})

test("a command that still runs when its answer is complete has the output so far as its result", async () => {
  const { subject, events } = recording({ permitted: ["a"] })
  await subject.addCall(own("a"), "backend")
  subject.take("item/commandExecution/outputDelta", { itemId: "a", delta: "half" }, turnId)
  subject.take("thread/tokenUsage/updated", { turnId, tokenUsage: { total: {} } }, turnId)
  subject.take("item/completed", { item: { type: "commandExecution", id: "a", status: "completed" } }, turnId)
  await subject.enqueue(() => {})
  const results = events.filter(({ type }) => type === "tool-result")
  expect(results).toMatchObject([
    { outcome: { output: [{ text: "half\n[The command is still running in the background.]" }] } },
  ])
})

test("a compaction of Codex is a warning", async () => {
  const { subject, events } = recording()
  subject.take("item/completed", { item: { type: "contextCompaction", id: "c" } }, turnId)
  await subject.enqueue(() => {})
  expect(events).toMatchObject([{ type: "warning", code: "conversation_compacted" }])
})

test("a retry of Codex is a warning, and its last error is left to the end of the turn", async () => {
  const { subject, events } = recording()
  subject.take("error", { willRetry: true, error: { message: "Reconnecting... 1/5" } }, turnId)
  subject.take("error", { willRetry: false, error: { message: "given up" } }, turnId)
  await subject.enqueue(() => {})
  expect(events).toEqual([
    { type: "warning", code: "backend_retry", message: "Codex repeats a model request: Reconnecting... 1/5" },
  ])
})

const command = {
  type: "commandExecution",
  id: "c",
  command: "/bin/bash -lc 'touch x'",
  status: "completed",
  exitCode: 0,
}
const patch = { type: "fileChange", id: "c", status: "completed", changes: [{ path: "/project/x", kind: "add" }] }
const tool = { type: "mcpToolCall", id: "c", server: "lab", tool: "add", arguments: { n: 1 }, status: "completed" }

test.each<readonly [string, JsonObject, string, Json]>([
  ["a command", command, "Bash", { command: "/bin/bash -lc 'touch x'" }],
  ["a patch", patch, "ApplyPatch", { paths: ["/project/x"] }],
  ["a tool of a server", tool, "mcp:lab/add", { n: 1 }],
])("%s that ran without a question is recorded with what ran, and stops the session", async (_, item, name, args) => {
  const { subject, events, stops } = recording()
  subject.take("item/completed", { item }, turnId)
  await subject.enqueue(() => {})
  expect(events).toMatchObject([
    { type: "begin" },
    { type: "tool-call", callId: "c", name, args, executor: "backend" },
    { type: "tool-result", callId: "c", outcome: { status: "ok" } },
  ])
  expect(stops).toMatchObject([{ reason: "failed", failure: { code: "backend_protocol" } }])
})

test.each([
  ["webSearch", { query: "tides" }, "WebSearch", { query: "tides" }],
  ["collabAgentToolCall", { prompt: "look" }, "Task", { prompt: "look" }],
])(
  "a call of %s, which Codex never asks about, is recorded, and the session goes on",
  async (type, more, name, args) => {
    const { subject, events, stops } = recording()
    subject.take("item/completed", { item: { type, id: "c", ...more } }, turnId)
    await subject.enqueue(() => {})
    expect(events.slice(1)).toMatchObject([
      { type: "tool-call", callId: "c", name, args: expect.objectContaining(args), executor: "backend" },
      { type: "tool-result", callId: "c", outcome: { status: "ok" } },
    ])
    expect(stops).toEqual([])
  },
)

test("a declined item whose hook was not asked has not run, and is not recorded", async () => {
  const { subject, events, stops } = recording()
  subject.take("item/completed", { item: { ...command, status: "declined" } }, turnId)
  await subject.enqueue(() => {})
  expect([events, stops]).toEqual([[], []])
})

test("a call that was never permitted is not recorded as running in the background", async () => {
  const { subject, events } = recording({ permitted: [] })
  await subject.addCall(own("a"), "backend")
  subject.take("thread/tokenUsage/updated", { turnId, tokenUsage: { total: {} } }, turnId)
  await subject.enqueue(() => {})
  expect(events.filter(({ type }) => type === "tool-result")).toEqual([])
})
