import { expect, test } from "vitest"
import { announced, edit, ended, runScripted } from "../../../test/support/acp-scene.ts"
import {
  allowEverything,
  hostOf,
  openingRequest,
  RecordingHost,
  ScriptedAgent,
} from "../../../test/support/scripted-agent.ts"
import type { Permit } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import { acp } from "./index.ts"

const bash = { toolCallId: "b1", title: "Runs it", kind: "execute", status: "pending", rawInput: { command: "make" } }

test.each([
  ["an effect is unknown", edit("c1"), "result unknown"],
  ["no effect has failed", { ...edit("c1"), kind: "read" }, "result error"],
])("a call that is interrupted while it runs and has %s", async (_, call, recorded) => {
  const host = new RecordingHost(allowEverything)
  let interrupt = () => {}
  const agent: ScriptedAgent = new ScriptedAgent({
    async "session/prompt"() {
      agent.update(announced(call))
      await agent.askPermission(call)
      interrupt()
      return new Promise<never>(() => {})
    },
    "session/cancel"() {
      agent.update(ended("c1", "failed"))
      agent.crash("stopped")
      return null
    },
  })
  const session = await acp({ name: "other", command: "other" }).open(openingRequest, hostOf(agent))
  interrupt = () => session.interrupt("immediate")
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  expect(stop).toEqual({ reason: "interrupted" })
  expect(host.told).toContain(recorded)
})

test("a call after the limit of the run is refused without a decision", async () => {
  const host = new RecordingHost(allowEverything)
  host.beginTurn = async () => ({ reason: "limit" })
  let chosen = ""
  const { stop } = await runScripted(
    async (agent) => {
      agent.update(announced(edit("c1")))
      chosen = await agent.askPermission(edit("c1"))
    },
    { host },
  )
  expect(chosen).toBe("id of reject_once")
  expect([stop, host.asked, host.ran]).toEqual([{ reason: "limit" }, [], []])
})

test("a call of the runtime's tools in the last turn does not run: no request could use its result", async () => {
  const host = new RecordingHost(allowEverything)
  let status = ""
  const agent: ScriptedAgent = new ScriptedAgent({
    async "session/prompt"() {
      status = String((await env.service.current?.callTool({ name: "send", args: {} }))?.status)
      return { stopReason: "cancelled" }
    },
    "session/cancel": () => null,
  })
  const env = hostOf(agent)
  const request = { ...openingRequest, limits: { turns: 1, reserved: false } }
  const session = await acp({ name: "other", command: "other" }).open(request, env)
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  expect([status, stop, host.ran]).toEqual(["denied", { reason: "limit" }, []])
})

test("neither a call of the agent nor one of the runtime's tools runs beside a call that waits for a person", async () => {
  const decide = (name: string, args: Json): Permit =>
    name === "Edit" ? { kind: "suspend", reason: "" } : { kind: "run", args }
  const host = new RecordingHost(decide)
  const answers: string[] = []
  const agent: ScriptedAgent = new ScriptedAgent({
    async "session/prompt"() {
      agent.update(announced(bash))
      await agent.askPermission(bash)
      agent.update(announced(edit("c1")))
      void agent.askPermission(edit("c1"))
      agent.update(announced({ ...bash, toolCallId: "b2" }))
      answers.push(await agent.askPermission({ ...bash, toolCallId: "b2" }))
      const outcome = await env.service.current?.callTool({ name: "send", args: {} })
      answers.push(String(outcome?.status))
      agent.update(ended("b1"))
      return new Promise<never>(() => {})
    },
    "session/cancel"() {
      agent.crash("stopped")
      return null
    },
  })
  const env = hostOf(agent)
  const session = await acp({ name: "other", command: "other" }).open(openingRequest, env)
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  expect(answers).toEqual(["id of reject_once", "denied"])
  expect(stop).toEqual({ reason: "suspended", resumeBy: "repeat" })
  expect(host.asked).toHaveLength(2)
  expect(host.ran).toEqual([])
})

test("a call that was refused and is reported as completed is recorded as a second result", async () => {
  const { host } = await runScripted(
    async (agent, { prompt }) => {
      if (!JSON.stringify(prompt).includes("no letters")) {
        agent.update(announced(edit("c1")))
        await agent.askPermission(edit("c1"))
        agent.update(ended("c1"))
      }
      agent.say("Done.")
    },
    { host: new RecordingHost(() => ({ kind: "refuse", reason: "no letters" })) },
  )
  expect(host.told.filter((line) => line.startsWith("result"))).toEqual(["result ok"])
})

test.each([1, 2])("the agent is stopped at the call of the last of %i turns, which is not permitted", async (turns) => {
  const host = new RecordingHost(allowEverything)
  const chosen: string[] = []
  const { stop, agent } = await runScripted(
    async (agent) => {
      for (const id of ["c1", "c2"]) {
        agent.update(announced(edit(id)))
        chosen.push(await agent.askPermission(edit(id)))
        agent.update(ended(id))
        agent.say("So far.")
      }
    },
    { host, request: { limits: { turns, reserved: false } } },
  )
  expect(stop).toEqual({ reason: "limit" })
  expect(host.asked).toHaveLength(turns - 1)
  expect(chosen.slice(turns - 1).filter((answer) => answer !== "cancelled")).toEqual([])
  expect(agent.sent("session/cancel")).toHaveLength(1)
})

const records = ["turn", "text-end", "tool-call", "metering", "tool-result"]
test.each(records.flatMap((lost) => [[lost, "alone"] as const, [lost, "with all that follow"] as const]))(
  "an agent is stopped once a record is lost, and the run fails with the reason: %s, %s",
  async (lost, how) => {
    const host = new RecordingHost(allowEverything)
    let isLost = false
    const write = (type: string) => {
      if (isLost ? how === "alone" : type !== lost) return
      isLost = true
      throw new LonghaulError("storage", "The disk is full.")
    }
    host.beginTurn = async () => {
      write("turn")
      return undefined
    }
    const { emit } = host
    host.emit = (event) => {
      write(event.type)
      return emit.call(host, event) as typeof event // Safe: it returns what it is given.
    }
    const { agent, stop } = await runScripted(
      async (each) => {
        each.say("Now.")
        each.update(announced(edit("c1")))
        await each.askPermission(edit("c1"))
        each.update({ sessionUpdate: "usage_update", used: 1000, size: 9000 })
        each.update(ended("c1"))
        await each.askPermission(edit("c2"))
      },
      { host, request: { limits: { turns: 10, reserved: true } } },
    )
    expect(stop).toMatchObject({ reason: "failed", failure: { code: "storage", message: "The disk is full." } })
    expect(agent.sent("session/cancel")).toHaveLength(1)
  },
)

test("a run that is stopped while its answer is checked sends the agent no further prompt", async () => {
  const host = new RecordingHost(allowEverything)
  let prompts = 0
  const agent: ScriptedAgent = new ScriptedAgent({
    async "session/prompt"() {
      prompts++
      agent.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Wrong." } })
      return { stopReason: "end_turn" }
    },
  })
  const session = await acp({ name: "other", command: "other" }).open(openingRequest, hostOf(agent))
  host.review = async () => {
    session.interrupt("graceful")
    return prompts > 3 ? undefined : "It is no JSON."
  }
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  expect([stop, prompts]).toEqual([{ reason: "interrupted" }, 1])
})

test("an answer that has to be repaired in the last turn is a limit, and the agent gets no further prompt", async () => {
  const host = new RecordingHost(allowEverything)
  host.review = async () => "It is no JSON."
  const { agent, stop } = await runScripted((scripted) => scripted.say("Wrong."), {
    host,
    request: { limits: { turns: 1, reserved: false } },
  })
  expect(stop).toEqual({ reason: "limit" })
  expect(agent.sent("session/prompt")).toHaveLength(1)
  expect(host.told).not.toContain("steer It is no JSON.")
})

test("a run that the host ends after its last turn asks for no review", async () => {
  const host = new RecordingHost(allowEverything)
  const reviewed: string[] = []
  host.endTurn = async () => ({ reason: "ended" })
  host.review = async (...given: readonly unknown[]) => void reviewed.push(String(given[0]))
  const { stop } = await runScripted((agent) => agent.say("Done."), { host })
  expect([stop, reviewed]).toEqual([{ reason: "ended" }, []])
})

test("an agent that says that it has answered after it was cancelled is interrupted all the same", async () => {
  const host = new RecordingHost(allowEverything)
  let interrupt = () => {}
  const agent: ScriptedAgent = new ScriptedAgent({
    "session/prompt"() {
      interrupt()
      agent.say("Half of it.")
      return { stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 5 } }
    },
  })
  const session = await acp({ name: "other", command: "other" }).open(openingRequest, hostOf(agent))
  interrupt = () => session.interrupt("immediate")
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  expect(stop).toEqual({ reason: "interrupted" })
})
