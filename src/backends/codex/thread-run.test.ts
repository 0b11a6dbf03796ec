import { expect, test } from "vitest"
import { allowEverything, openingRequest, RecordingHost, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import type { Permit, TurnInput } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { noUsage } from "../../lib/usage.ts"
import { Controls } from "../shared/controls.ts"
import { JsonRpc } from "../shared/json-rpc.ts"
import { CodexGate } from "./gate.ts"
import type { StepResult } from "./recording.ts"
import { ThreadRun } from "./thread-run.ts"

const threadId = "t1"

/** One run of a thread. `play`: what Codex does in a turn. Default: its model says that it is done. */
function scene({ turns = 10, play = done }: { turns?: number; play?(scene: Scene, turnId: string): void } = {}) {
  let begun = 0
  const tell = (method: string, params: JsonObject) => channel.write({ method, params: { threadId, ...params } })
  const channel: ScriptedAgent = new ScriptedAgent({
    "turn/start": () => {
      const id = `turn${++begun}`
      tell("turn/started", { turn: { id } })
      play(parts, id)
      return { turn: { id } }
    },
    "turn/interrupt": ({ turnId: id = null }) => {
      tell("turn/completed", { turn: { id, status: "interrupted" } })
      return {}
    },
  })
  const host = new RecordingHost(allowEverything)
  const rpc = new JsonRpc(channel, {
    ...{ name: "codex", versioned: false, replyMs: 60_000, onRequest: () => undefined },
    toError: ({ message }) => new LonghaulError("backend_crashed", message),
    onNotification: (method: string, params: Json) => run.notified(method, params),
  })
  const thread = { channel, rpc, version: "1", home: "/home", id: threadId, cwd: "/project", model: "m", sandbox: null }
  const facts = { ours: new Set<string>(), servers: [], cwd: "/project", isSandboxed: true }
  const gate = new CodexGate(facts, { ask: async () => ({ kind: "refuse", reason: "" }), refused() {} })
  const controls = new Controls()
  const request = { ...openingRequest, limits: { turns, reserved: false } }
  /** The results that the next session needs, each time that they are noted. */
  const kept: (readonly StepResult[])[] = []
  const run: ThreadRun = new ThreadRun({
    ...{ thread, request, host, controls, gate, stopMs: 60_000, counted: noUsage, left: [] },
    onProgress: (_, results) => results && kept.push(results),
  })
  const parts = { run, channel, host, controls, kept, tell }
  return parts
}

interface Scene extends Omit<ReturnType<typeof scene>, "run"> {
  readonly run: ThreadRun
}

function done({ tell }: Pick<Scene, "tell">, id: string): void {
  tell("item/completed", { item: { type: "agentMessage", id: "m", text: "Done." } })
  tell("thread/tokenUsage/updated", { turnId: id, tokenUsage: { total: {} } })
  tell("turn/completed", { turn: { id, status: "completed" } })
}

const prompt: TurnInput = { kind: "prompt", content: [{ type: "text", text: "Go." }] }
const make = { callId: "c1", name: "Bash", args: { command: "make" } }
const command = { call: make, tool: { name: "Bash", nativeName: "Bash", effect: "once", risk: "high" } } as const

/** A resumed session continues with a call that nobody has decided about yet. */
const undecided: TurnInput = { kind: "continue", answers: [{ kind: "replay", call: make }] }

test("a call about which nobody has decided yet suspends the thread again, without a request", async () => {
  const { run, channel } = scene()
  expect(await run.run(undecided)).toEqual({ reason: "suspended", resumeBy: "settle" })
  expect(channel.sent("turn/start")).toEqual([])
})

test("an interrupt before the turn has begun names no turn: Codex would refuse it", async () => {
  const { run, channel } = scene()
  run.interruptTurn()
  expect(channel.sent("turn/interrupt")).toEqual([])
  await run.run(undecided)
})

test("what Codex tells of another thread, such as that of its own agent, does not belong to the run", async () => {
  const { run, host } = scene({
    play(codex, id) {
      const other = { threadId: "t2" }
      codex.tell("item/completed", { ...other, item: { type: "agentMessage", id: "o", text: "Mine." } })
      codex.tell("turn/completed", { ...other, turn: { id, status: "failed" } })
      done(codex, id)
    },
  })
  expect(await run.run(prompt)).toEqual({ reason: "done", text: "Done." })
  expect(host.told).toEqual(["text Done."])
})

test("a message that comes before the turn has begun is sent once it has", async () => {
  const { run, channel, controls } = scene()
  controls.steer({ id: "s1", text: "Hurry." })
  run.sendSteers()
  expect(channel.sent("turn/steer")).toEqual([])
  await run.run(prompt)
  expect(channel.sent("turn/steer")).toMatchObject([{ expectedTurnId: "turn1", clientUserMessageId: "s1" }])
})

test("a session that accepts no further messages sends none into its turn", async () => {
  const { run, channel, controls } = scene({ turns: 1 })
  controls.takeSteers(true)
  expect(await run.run(prompt)).toEqual({ reason: "done", text: "Done." })
  expect(channel.sent("turn/steer")).toEqual([])
})

test("a decision that comes after the end of the run permits nothing", async () => {
  const { run, host } = scene()
  let decide = () => {}
  host.authorize = () =>
    new Promise<Permit>((resolve) => {
      decide = () => resolve({ kind: "run", args: make.args })
    })
  const permit = run.ask(command)
  await run.run(undecided)
  decide()
  expect(await permit).toMatchObject({ kind: "refuse" })
})

test("a refused call that Codex reports as declined has no second result: the runtime has recorded the refusal", async () => {
  const { run, host } = scene()
  host.authorize = async () => ({ kind: "refuse", reason: "Not today." })
  expect(await run.ask(command)).toEqual({ kind: "refuse", reason: "Not today." })
  const item = { type: "commandExecution", id: make.callId, status: "declined" }
  run.notified("item/completed", { threadId, item })
  await run.run(undecided)
  expect(host.told).toEqual(['call Bash {"command":"make"}'])
})

test("a call of the runtime's tool whose decision fails is denied, and Codex gets that as its result", async () => {
  const { run, host } = scene()
  host.callTool = () => Promise.reject(new Error("lost"))
  expect(await run.callTool({ callId: "c1", tool: "send", arguments: {} })).toEqual({
    contentItems: [{ type: "inputText", text: "Not run: the decision failed." }],
    success: false,
  })
  expect(host.told).toEqual(["call send {}", "result denied"])
})

test("a session that is being stopped begins no turn", async () => {
  const { run, channel, controls } = scene()
  controls.interrupt("graceful")
  expect(await run.run(prompt)).toEqual({ reason: "interrupted" })
  expect(channel.sent("turn/start")).toEqual([])
})

test.each([
  ["as interrupted", { status: "interrupted" }],
  ["as failed", { status: "failed", error: { message: "It broke." } }],
])("a turn that Codex ends %s while the session is being stopped is no failure", async (_, end) => {
  const { run } = scene({
    play({ controls, tell }, id) {
      controls.interrupt("graceful")
      tell("turn/completed", { turn: { id, ...end } })
    },
  })
  expect(await run.run(prompt)).toEqual({ reason: "interrupted" })
})

test("a run that the host ends with an answer is over, and the answer is not reviewed", async () => {
  const { run, host } = scene()
  host.endTurn = async () => ({ reason: "ended" })
  host.review = () => expect.fail("the answer is reviewed")
  expect(await run.run(prompt)).toEqual({ reason: "ended" })
})

test.each([
  [1, { reason: "limit" }],
  [2, { reason: "done", text: "Done." }],
])("an answer that is not accepted is repaired only if a turn is left: %i", async (turns, stop) => {
  const { run, channel, host } = scene({ turns })
  const problems = ["It is not JSON."]
  host.review = async () => problems.shift()
  expect(await run.run(prompt)).toEqual(stop)
  expect(channel.sent("turn/start")).toHaveLength(turns)
})

test("a suspended run kills Codex, which would otherwise note an aborted call, and keeps the other results", async () => {
  const { run, channel, host, kept } = scene({
    play: async ({ run: codex, tell }) => {
      await codex.callTool({ callId: "c2", tool: "send", arguments: {} })
      void codex.ask(command)
      tell("rawResponse/completed", {})
    },
  })
  host.authorize = async () => ({ kind: "suspend", reason: "A person decides." })
  expect(await run.run(prompt)).toEqual({ reason: "suspended", resumeBy: "settle" })
  expect(channel.ended).toEqual(["kill"])
  expect(channel.sent("turn/interrupt")).toEqual([])
  expect(kept).toEqual([[{ callId: "c2", text: "sent", isAnswered: true, isCustom: false }]])
})
