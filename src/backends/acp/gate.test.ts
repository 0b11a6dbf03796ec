import { describe, expect, test } from "vitest"
import { announced, edit, ended, runScripted } from "../../../test/support/acp-scene.ts"
import {
  allowEverything,
  hostOf,
  openingRequest,
  RecordingHost,
  ScriptedAgent,
} from "../../../test/support/scripted-agent.ts"
import type { Permit } from "../../contract/backend.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { acp } from "./index.ts"

const done = { reason: "done", text: "Done." }
const refuse = (): Permit => ({ kind: "refuse", reason: "letters only" })

describe("a question of the agent", () => {
  test.each([
    [["allow_always", "reject_always", "reject_once", "allow_once"]],
    [["allow_once", "reject_once"]],
    [["reject_once", "allow_always", "allow_once"]],
  ])("a question is allowed for this call only, wherever that option stands: %j", async (kinds) => {
    let chosen = ""
    const { host, stop } = await runScripted(async (agent) => {
      agent.update(announced(edit("c1")))
      chosen = await agent.askPermission(edit("c1"), kinds)
      agent.update(ended("c1"))
      agent.say("Done.")
    })
    expect(chosen).toBe("id of allow_once")
    expect(stop).toEqual(done)
    expect(host.told).toEqual(['call Edit {"path":"/project/a.txt","text":"new"}', "result ok", "text Done."])
    expect(host.asked).toEqual([["Edit", { path: "/project/a.txt", text: "new" }, false]])
  })

  test.each(["authorize", "beginTurn"] as const)(
    "a question is refused if the decision about it throws: %s",
    async (where) => {
      let chosen = ""
      const throwing = new RecordingHost(allowEverything)
      Object.assign(throwing, { [where]: () => Promise.reject(new Error("lost")) })
      await runScripted(
        async (agent) => {
          agent.update(announced(edit("c1")))
          chosen = await agent.askPermission(edit("c1"))
          agent.say("Done.")
        },
        { host: throwing },
      )
      expect(chosen).toBe("id of reject_once")
    },
  )

  test("a question about another call under the same id is decided anew", async () => {
    const chosen: string[] = []
    const first = { ...edit("c1"), rawInput: { path: "/project/a.txt", text: "one" } }
    const second = { toolCallId: "c1", title: "Runs it", kind: "execute", rawInput: { command: "rm -rf ." } }
    const decide = (name: string, args: Json): Permit => (name === "Edit" ? { kind: "run", args } : refuse())
    const { host } = await runScripted(
      async (agent) => {
        if (chosen.length === 0) {
          agent.update(announced(first))
          chosen.push(await agent.askPermission(first), await agent.askPermission(second))
        }
        agent.say("Done.")
      },
      { host: new RecordingHost(decide) },
    )
    expect(chosen).toEqual(["id of allow_once", "id of reject_once"])
    expect(host.asked).toHaveLength(2)
  })

  test("a question is cancelled if it offers only a permission for always", async () => {
    let chosen = ""
    await runScripted(async (agent) => {
      chosen = await agent.askPermission(edit("c1"), ["allow_always", "reject_always"])
      agent.say("Done.")
    })
    expect(chosen).toBe("cancelled")
  })

  test("a question is cancelled if it is refused and offers no way to refuse once, and the model is told why", async () => {
    const chosen: string[] = []
    const { agent, host } = await runScripted(
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

  test("a question is refused if the policy changes the arguments, since the agent would run its own", async () => {
    const chosen: string[] = []
    const { host } = await runScripted(
      async (agent) => {
        if (chosen.length === 0) chosen.push(await agent.askPermission(edit("c1")))
        agent.say("Done.")
      },
      { host: new RecordingHost(() => ({ kind: "run", args: { path: "/project/b.txt" } })) },
    )
    expect(chosen).toEqual(["id of reject_once"])
    expect(host.told).toContain("result denied")
  })

  test("a question of another session, or between two runs, is cancelled without asking the policy", async () => {
    let reply: Json | undefined
    const { host } = await runScripted(async (agent) => {
      const options = [{ optionId: "yes", kind: "allow_once", name: "Yes" }]
      reply = await agent.ask("session/request_permission", { sessionId: "s2", toolCall: edit("c1"), options })
      agent.say("Done.")
    })
    expect(reply).toMatchObject({ result: { outcome: { outcome: "cancelled" } } })
    expect(host.asked).toEqual([])
  })

  test("a question about the same call is answered by the same decision", async () => {
    const chosen: string[] = []
    const { host } = await runScripted(async (agent) => {
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
  const looksAlike: readonly (readonly [string, JsonObject, JsonObject, Json])[] = [
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
      ["Bash", { command: "rm -rf ." }, false],
    ],
    [
      "a question with that title that was never announced",
      { toolCallId: "c2", title: "longhaul-send", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "longhaul-send", kind: "other", rawInput: { to: "Ada" } },
      ["acp:other", { to: "Ada" }, true],
    ],
    [
      "a question about a command under the id of such a call",
      { toolCallId: "c1", title: "longhaul-send", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "send", kind: "execute", rawInput: { command: "rm -rf ." } },
      ["Bash", { command: "rm -rf ." }, true],
    ],
    [
      "a question with other arguments",
      { toolCallId: "c1", title: "longhaul-send", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "send", kind: "other", rawInput: { to: "Eve" } },
      ["acp:other", { to: "Eve" }, true],
    ],
    [
      "a tool that is not offered",
      { toolCallId: "c1", title: "longhaul-delete", kind: "other", status: "pending", rawInput: { to: "Ada" } },
      { toolCallId: "c1", title: "delete", kind: "other", rawInput: { to: "Ada" } },
      ["acp:other", { to: "Ada" }, false],
    ],
  ]
  test.each(looksAlike)(
    "a call that only looks like one of the runtime's tools is decided by the policy: %s",
    async (_, call, question, asked) => {
      const chosen: string[] = []
      const { host } = await runScripted(
        async (agent) => {
          if (chosen.length > 0) return
          agent.update(announced(call))
          chosen.push(await agent.askPermission(question))
        },
        { ...copilot, host: new RecordingHost(refuse) },
      )
      expect(chosen).toEqual(["id of reject_once"])
      expect(host.asked).toEqual([asked])
    },
  )

  test("a real call of one of the runtime's tools is allowed, and recorded when it reaches the bridge", async () => {
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

describe("a call that waits for a person", () => {
  const suspend = (): Permit => ({ kind: "suspend", reason: "A person has to decide first." })

  test("a call that waits for a person stops the agent, which is told so before its question is answered, and stays open", async () => {
    const { agent, host, stop, session } = await runScripted(
      async (agent) => {
        agent.update(announced(edit("c1")))
        const chosen = await agent.askPermission(edit("c1"))
        agent.update(ended("c1", "failed"))
        agent.say(chosen)
      },
      { host: new RecordingHost(suspend) },
    )
    expect(stop).toEqual({ reason: "suspended", resumeBy: "repeat" })
    expect(host.told).toEqual(['call Edit {"path":"/project/a.txt","text":"new"}'])
    expect(agent.sent("session/cancel")).toEqual([{ sessionId: "s1" }])
    expect(session.ref.resumable).toBe(true)
  })

  test("a call of the runtime's tools that waits for a person stops the agent, and is continued by the runtime", async () => {
    const agentHost = new RecordingHost(refuse)
    Object.assign(agentHost, { callTool: async () => ({ status: "suspended" }) })
    let bridge: ReturnType<typeof hostOf>["service"] | undefined
    const agent: ScriptedAgent = new ScriptedAgent({
      async "session/prompt"() {
        await bridge?.current?.callTool({ name: "send", args: { to: "Ada" } })
        return { stopReason: "cancelled" }
      },
    })
    const env = hostOf(agent)
    bridge = env.service
    const session = await acp({ name: "copilot", command: "copilot" }).open(openingRequest, env)
    const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Send it." }] }, agentHost)
    expect(stop).toEqual({ reason: "suspended" })
  })

  test("a call that waits for a person waits until a running call has ended; a further one is refused", async () => {
    const order: string[] = []
    const decide = (name: string, args: Json): Permit => (name === "Bash" ? { kind: "run", args } : suspend())
    const bash = {
      toolCallId: "b1",
      title: "Runs it",
      kind: "execute",
      status: "pending",
      rawInput: { command: "make" },
    }
    const { host, stop } = await runScripted(
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
