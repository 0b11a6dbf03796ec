import { expect, test } from "vitest"
import { allowEverything, openingRequest, RecordingHost, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import type { TurnInput } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import { noUsage } from "../../lib/usage.ts"
import { Controls } from "../shared/controls.ts"
import { JsonRpc } from "../shared/json-rpc.ts"
import { CodexGate } from "./gate.ts"
import { ThreadRun } from "./thread-run.ts"

/** One run of a thread. */
function scene() {
  const channel = new ScriptedAgent({})
  const host = new RecordingHost(allowEverything)
  const rpc = new JsonRpc(channel, {
    ...{ name: "codex", versioned: false, replyMs: 60_000, onRequest: () => undefined },
    toError: ({ message }) => new LonghaulError("backend_crashed", message),
    onNotification: (method: string, params: Json) => run.notified(method, params),
  })
  const thread = { channel, rpc, version: "1", home: "/home", id: "t1", cwd: "/project", model: "m", sandbox: null }
  const facts = { ours: new Set<string>(), servers: [], cwd: "/project", isSandboxed: true }
  const gate = new CodexGate(facts, { ask: async () => ({ kind: "refuse", reason: "" }), refused() {} })
  const run: ThreadRun = new ThreadRun({
    ...{ thread, request: openingRequest, host, controls: new Controls(), gate, stopMs: 60_000, counted: noUsage },
    ...{ left: [], onProgress() {} },
  })
  return { run, channel }
}

/** Nobody has decided about its call. */
const undecided: TurnInput = {
  kind: "continue",
  answers: [{ kind: "replay", call: { callId: "c1", name: "Bash", args: { command: "make" } } }],
}

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
