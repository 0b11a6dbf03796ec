import { describe, expect, test } from "vitest"
import {
  allowEverything,
  hostOf,
  openingRequest,
  RecordingHost,
  ScriptedAgent,
} from "../../../test/support/scripted-agent.ts"
import type { OpenRequest, Permit, Stop } from "../../contract/backend.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { AcpOptions } from "./index.ts"
import { acp } from "./index.ts"

type OnPrompt = (agent: ScriptedAgent, params: JsonObject) => Promise<void> | void

interface Scene {
  readonly options?: AcpOptions
  readonly request?: Partial<OpenRequest>
  readonly host?: RecordingHost
  readonly task?: string
  readonly answers?: ConstructorParameters<typeof ScriptedAgent>[0]
}

/** Runs one session whose agent does this on each prompt, and then ends its turn. */
async function run(onPrompt: OnPrompt, scene: Scene = {}) {
  const {
    options = { name: "other", command: "other" },
    host = new RecordingHost(allowEverything),
    task = "Do it.",
  } = scene
  let cancelled = () => {}
  const isCancelled = new Promise<void>((resolve) => {
    cancelled = resolve
  })
  const agent: ScriptedAgent = new ScriptedAgent({
    async "session/prompt"(params) {
      const work = Promise.resolve(onPrompt(agent, params)).then(() => "end_turn")
      const stopReason = await Promise.race([work, isCancelled.then(() => "cancelled")])
      return { stopReason, usage: { inputTokens: 10, outputTokens: 5 } }
    },
    "session/cancel"() {
      cancelled()
      return null
    },
    ...scene.answers,
  })
  const env = hostOf(agent)
  const session = await acp(options).open({ ...openingRequest, ...scene.request }, env)
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: task }] }, host)
  await session.close()
  return { agent, host, stop, session, env }
}

const edit = (id: string, more: JsonObject = {}): JsonObject => ({
  ...{ toolCallId: id, title: "Editing", kind: "edit", status: "pending" },
  rawInput: { path: "/work/a.txt", text: "new" },
  ...more,
})

const announced = (call: JsonObject): JsonObject => ({ sessionUpdate: "tool_call", ...call })
const ended = (id: string, status = "completed"): JsonObject => ({
  ...{ sessionUpdate: "tool_call_update", toolCallId: id, status },
  content: [{ type: "content", content: { type: "text", text: "written" } }],
})

const done = { reason: "done", text: "Done." }
const refuse = (): Permit => ({ kind: "refuse", reason: "letters only" })

describe("a question of the agent", () => {
  test.each([
    [["allow_always", "reject_always", "reject_once", "allow_once"]],
    [["allow_once", "reject_once"]],
    [["reject_once", "allow_always", "allow_once"]],
  ])("is allowed for this call only, wherever that option stands: %j", async (kinds) => {
    let chosen = ""
    const { host, stop } = await run(async (agent) => {
      agent.update(announced(edit("c1")))
      chosen = await agent.askPermission(edit("c1"), kinds)
      agent.update(ended("c1"))
      agent.say("Done.")
    })
    expect(chosen).toBe("id of allow_once")
    expect(stop).toEqual(done)
    expect(host.told).toEqual(['call Edit {"path":"/work/a.txt","text":"new"}', "result ok", "text Done."])
    expect(host.asked).toEqual([["Edit", { path: "/work/a.txt", text: "new" }, false]])
  })

  test("is cancelled if it offers only a permission for always", async () => {
    let chosen = ""
    await run(async (agent) => {
      chosen = await agent.askPermission(edit("c1"), ["allow_always", "reject_always"])
      agent.say("Done.")
    })
    expect(chosen).toBe("cancelled")
  })

  test("is cancelled if it is refused and offers no way to refuse once, and the model is told why", async () => {
    const chosen: string[] = []
    const { agent, host } = await run(
      async (agent) => {
        if (chosen.length === 0) chosen.push(await agent.askPermission(edit("c1"), ["allow_once", "reject_always"]))
        agent.say("Done.")
      },
      { host: new RecordingHost(refuse) },
    )
    expect(chosen).toEqual(["cancelled"])
    expect(JSON.stringify(agent.sent("session/prompt").at(-1))).toContain("letters only")
    expect(host.told.some((line) => line.startsWith("steer ") && line.includes("letters only"))).toBe(true)
  })

  test("is refused if the policy changes the arguments, since the agent would run its own", async () => {
    const chosen: string[] = []
    const { host } = await run(
      async (agent) => {
        if (chosen.length === 0) chosen.push(await agent.askPermission(edit("c1")))
        agent.say("Done.")
      },
      { host: new RecordingHost(() => ({ kind: "run", args: { path: "/work/b.txt" } })) },
    )
    expect(chosen).toEqual(["id of reject_once"])
    expect(host.told).toContain("result denied")
  })

  test("of another session, or between two runs, is cancelled without asking the policy", async () => {
    let reply: Json | undefined
    const { host } = await run(async (agent) => {
      const options = [{ optionId: "yes", kind: "allow_once", name: "Yes" }]
      reply = await agent.ask("session/request_permission", { sessionId: "s2", toolCall: edit("c1"), options })
      agent.say("Done.")
    })
    expect(reply).toMatchObject({ result: { outcome: { outcome: "cancelled" } } })
    expect(host.asked).toEqual([])
  })

  test("about the same call is answered by the same decision", async () => {
    const chosen: string[] = []
    const { host } = await run(async (agent) => {
      agent.update(announced(edit("c1")))
      for (let count = 0; count < 2; count++) chosen.push(await agent.askPermission(edit("c1")))
      agent.update(ended("c1"))
      agent.say("Done.")
    })
    expect(chosen).toEqual(["id of allow_once", "id of allow_once"])
    expect(host.asked).toHaveLength(1)
  })
})

describe("a call that only looks like one of the runtime's tools", () => {
  const copilot = { options: { name: "copilot", command: "copilot" } }
  const looksAlike: readonly (readonly [string, JsonObject, JsonObject])[] = [
    [
      "a command with that title",
      {
        toolCallId: "c1",
        title: "longhaul-send",
        kind: "execute",
        status: "pending",
        rawInput: { command: "rm -rf ." },
      },
      { toolCallId: "c1", title: "longhaul-send", kind: "execute", rawInput: { command: "rm -rf ." } },
    ],
    [
      "a question with that title that was never announced",
      { toolCallId: "c2", title: "longhaul-send", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "longhaul-send", kind: "other", rawInput: { to: "Ada" } },
    ],
    [
      "a question about a command under the id of such a call",
      { toolCallId: "c1", title: "longhaul-send", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "send", kind: "execute", rawInput: { command: "rm -rf ." } },
    ],
    [
      "a question with other arguments",
      { toolCallId: "c1", title: "longhaul-send", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "send", kind: "other", rawInput: { to: "Eve" } },
    ],
    [
      "a tool that is not offered",
      { toolCallId: "c1", title: "longhaul-delete", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "delete", kind: "other", rawInput: { to: "Ada" } },
    ],
  ]
  test.each(looksAlike)("is decided by the policy: %s", async (_, call, question) => {
    const chosen: string[] = []
    const { host } = await run(
      async (agent) => {
        if (chosen.length > 0) return
        agent.update(announced(call))
        chosen.push(await agent.askPermission(question))
      },
      { ...copilot, host: new RecordingHost(refuse) },
    )
    expect(chosen).toEqual(["id of reject_once"])
    expect(host.asked).toHaveLength(1)
  })

  test("while a real one is allowed, and recorded when it reaches the bridge", async () => {
    const call = { toolCallId: "c1", title: "longhaul-send", kind: "other", status: "pending", rawInput: { to: "Ada" } }
    const agentHost = new RecordingHost(refuse)
    let chosen = ""
    let bridge: ReturnType<typeof hostOf>["service"] | undefined
    const agent: ScriptedAgent = new ScriptedAgent({
      async "session/prompt"() {
        agent.update(announced(call))
        chosen = await agent.askPermission({ ...call, title: "send" })
        await bridge?.current?.callTool({ name: "send", args: { to: "Ada" } })
        agent.update(ended("c1"))
        agent.say("Done.")
        return { stopReason: "end_turn", usage: { outputTokens: 1 } }
      },
    })
    const env = hostOf(agent)
    bridge = env.service
    const session = await acp(copilot.options).open(openingRequest, env)
    const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Send it." }] }, agentHost)
    expect(stop).toEqual(done)
    expect(chosen).toBe("id of allow_once")
    expect(agentHost.told).toEqual(['call send {"to":"Ada"}', "text Done."])
    expect(agentHost.ran).toEqual([["send", { to: "Ada" }]])
  })
})

describe("a prompt", () => {
  test.each(["/allow-all on", "  /yolo", "!rm -rf .", "@secrets", "#note", "&later"])(
    "never begins with a sign that the agent reads as its own command: %s",
    async (task) => {
      const { agent } = await run((agent) => agent.say("Done."), { task })
      const [sent] = agent.sent("session/prompt")
      expect(sent).toEqual({ sessionId: "s1", prompt: [{ type: "text", text: `Message:\n${task}` }] })
    },
  )
})

describe("a session", () => {
  test("that does not ask before it acts is set back before the first prompt", async () => {
    const mode = "https://agentclientprotocol.com/protocol/session-modes#agent"
    const { agent } = await run((agent) => agent.say("Done."), {
      options: { name: "copilot", command: "copilot" },
      answers: {
        "session/new": () => ({
          sessionId: "s1",
          modes: { currentModeId: "autopilot", availableModes: [] },
          configOptions: [{ id: "allow_all", currentValue: "on" }],
        }),
      },
    })
    expect(agent.sent("session/set_mode")).toEqual([{ sessionId: "s1", modeId: mode }])
    expect(agent.sent("session/set_config_option")).toEqual([{ sessionId: "s1", configId: "allow_all", value: "off" }])
  })

  test("that cannot be set back is not opened, and its program is ended", async () => {
    const agent = new ScriptedAgent({
      "session/new": () => ({ sessionId: "s1", configOptions: [{ id: "allow_all", currentValue: "on" }] }),
      "session/set_config_option": () => Promise.reject({ code: -32602, message: "no" }),
    })
    const opening = acp({ name: "copilot", command: "copilot" }).open(openingRequest, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "backend_protocol" })
    expect(agent.ended).toEqual(["kill"])
  })

  test("that is loaded records nothing of the conversation that the agent repeats", async () => {
    const ref = { backend: "acp:other", version: "1.2.3", id: "s1", cwd: "/work", resumable: true }
    const { host, stop } = await run((agent) => agent.say("Done."), {
      request: { from: { kind: "session", ref, turns: 1 } },
      answers: {
        "session/load"(_, agent) {
          agent.say("An old answer.")
          agent.update(announced(edit("old")))
          // Part of it comes after the reply.
          queueMicrotask(() => setTimeout(() => agent.say("Another old answer."), 20))
          return {}
        },
      },
    })
    expect(stop).toEqual(done)
    expect(host.told).toEqual(["text Done."])
  })

  test("that the agent does not have any more is lost", async () => {
    const ref = { backend: "acp:other", version: "1.2.3", id: "s9", cwd: "/work", resumable: true }
    const agent = new ScriptedAgent({ "session/load": () => Promise.reject({ code: -32603, message: "unknown" }) })
    const from = { kind: "session", ref, turns: 1 } as const
    const opening = acp({ name: "other", command: "other" }).open({ ...openingRequest, from }, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "session_lost" })
  })

  test("of Gemini is not loaded in the minute of its creation, which would damage it", async () => {
    const data = { createdAt: Date.now() }
    const ref = { backend: "acp:gemini", version: "1.2.3", id: "s1", cwd: "/work", resumable: true, data }
    const agent = new ScriptedAgent({})
    const from = { kind: "session", ref, turns: 1 } as const
    const opening = acp({ name: "gemini", command: "gemini" }).open({ ...openingRequest, from }, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "session_lost" })
    expect(agent.received).toEqual([])
  })

  test("without a login fails as auth, with the command", async () => {
    const agent = new ScriptedAgent({ "session/new": () => Promise.reject({ code: -32000, message: "Log in" }) })
    const opening = acp({ name: "copilot", command: "copilot" }).open(openingRequest, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "auth", fix: expect.stringContaining("copilot login") })
  })
})

describe("an agent that misbehaves", () => {
  const failure = (stop: Stop) => (stop.reason === "failed" ? stop.failure.code : stop.reason)

  test("by a line that is no message fails the run", async () => {
    const { stop } = await run((agent) => agent.write({ raw: "panic: oh no" }))
    expect(failure(stop)).toBe("backend_protocol")
  })

  test("by its exit in the middle of a call fails the run, with what it wrote to standard error", async () => {
    const { stop, host } = await run(async (agent) => {
      agent.update(announced(edit("c1")))
      await agent.askPermission(edit("c1"))
      agent.crash("out of memory")
      await new Promise(() => {})
    })
    expect(stop).toMatchObject({
      failure: { code: "backend_crashed", message: expect.stringContaining("out of memory") },
    })
    expect(host.told).toEqual(['call Edit {"path":"/work/a.txt","text":"new"}'])
  })

  test("by methods that were not offered gets an error at once", async () => {
    let reply: JsonObject = {}
    await run(async (agent) => {
      reply = await agent.ask("fs/write_text_file", { sessionId: "s1", path: "/work/x", content: "x" })
      agent.say("Done.")
    })
    expect(reply).toMatchObject({ error: { code: -32601 } })
  })

  test("by an unknown reason to stop fails the run", async () => {
    const { stop } = await run(() => {}, { answers: { "session/prompt": () => ({ stopReason: "tired" }) } })
    expect(failure(stop)).toBe("unexpected_stop")
  })

  test("by acting without a question is recorded, with a warning where it should have asked", async () => {
    const { host } = await run(
      (agent) => {
        agent.update(announced(edit("c1", { rawInput: { path: "/work/a.txt", old_str: "a" } })))
        agent.update(ended("c1"))
        agent.say("Done.")
      },
      { options: { name: "copilot", command: "copilot" } },
    )
    const call = 'call Edit {"path":"/work/a.txt","old_str":"a"}'
    expect(host.told).toEqual([call, "warning call_not_asked", "result ok", "text Done."])
  })

  test("by telling an error of its model as an answer fails the run with its code", async () => {
    const { stop, host } = await run(
      (agent) => agent.say("Error: Failed to get response from the AI model: 429 Too many"),
      {
        options: { name: "copilot", command: "copilot" },
      },
    )
    expect(failure(stop)).toBe("rate_limited")
    expect(host.told).toEqual([])
  })
})

describe("a call that waits for a person", () => {
  const suspend = (): Permit => ({ kind: "suspend", reason: "A person has to decide first." })

  test("stops the agent, which is told so before its question is answered, and stays open", async () => {
    const { agent, host, stop, session } = await run(
      async (agent) => {
        agent.update(announced(edit("c1")))
        const chosen = await agent.askPermission(edit("c1"))
        agent.update(ended("c1", "failed"))
        agent.say(chosen)
      },
      { host: new RecordingHost(suspend) },
    )
    expect(stop).toEqual({ reason: "suspended", resumeBy: "repeat" })
    expect(host.told).toEqual(['call Edit {"path":"/work/a.txt","text":"new"}'])
    expect(agent.sent("session/cancel")).toEqual([{ sessionId: "s1" }])
    expect(session.ref.resumable).toBe(true)
  })

  test("waits until a running call has ended; a further one is refused", async () => {
    const order: string[] = []
    const decide = (name: string, args: Json): Permit => (name === "Bash" ? { kind: "run", args } : suspend())
    const bash = {
      toolCallId: "b1",
      title: "Runs it",
      kind: "execute",
      status: "pending",
      rawInput: { command: "make" },
    }
    const { host, stop } = await run(
      async (agent) => {
        agent.update(announced(bash))
        await agent.askPermission(bash)
        agent.update(announced(edit("c1")))
        const first = agent.askPermission(edit("c1")).then((chosen) => order.push(`first ${chosen}`))
        const second = agent.askPermission(edit("c2"))
        order.push(`second ${await second}`)
        order.push(`cancelled ${agent.sent("session/cancel").length}`)
        agent.update(ended("b1"))
        await first
        await new Promise(() => {})
      },
      { host: new RecordingHost(decide) },
    )
    expect(stop).toEqual({ reason: "suspended", resumeBy: "repeat" })
    expect(order).toEqual(["second id of reject_once", "cancelled 0", "first cancelled"])
    expect(host.told.filter((line) => line.startsWith("result"))).toEqual(["result denied", "result ok"])
  })
})
