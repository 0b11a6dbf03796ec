import { describe, expect, test } from "vitest"
import { announced, edit, ended, runScripted } from "../../../test/support/acp-scene.ts"
import {
  allowEverything,
  hostOf,
  openingRequest,
  RecordingHost,
  ScriptedAgent,
} from "../../../test/support/scripted-agent.ts"
import type { OpenRequest, Stop } from "../../contract/backend.ts"
import type { BackendEnv, ProgramSpec } from "../../contract/backend-env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { acp } from "./index.ts"

const done = { reason: "done", text: "Done." }
describe("a prompt", () => {
  test.each(["/allow-all on", "  /yolo", "!rm -rf .", "@secrets", "#note", "&later"])(
    "a prompt never begins with a sign that the agent reads as its own command: %s",
    async (task) => {
      const { agent } = await runScripted((agent) => agent.say("Done."), { task })
      const [sent] = agent.sent("session/prompt")
      expect(sent).toEqual({ sessionId: "s1", prompt: [{ type: "text", text: `Message:\n${task}` }] })
    },
  )
})

describe("a session", () => {
  test("a session that does not ask before it acts is set back before the first prompt", async () => {
    const mode = "https://agentclientprotocol.com/protocol/session-modes#agent"
    const { agent } = await runScripted((agent) => agent.say("Done."), {
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

  test("an agent that speaks another version of the protocol is not used, and its program is ended", async () => {
    const agent = new ScriptedAgent({ initialize: () => ({ protocolVersion: 2, agentCapabilities: {} }) })
    const opening = acp({ name: "other", command: "other" }).open(openingRequest, hostOf(agent))
    await expect(opening).rejects.toMatchObject({
      code: "backend_protocol",
      message: "other uses version 2 of the Agent Client Protocol, not 1.",
    })
    expect(agent.sent("session/new")).toEqual([])
    expect(agent.ended).toEqual(["kill"])
  })

  test("a session that cannot be set back is not opened, and its program is ended", async () => {
    const agent = new ScriptedAgent({
      "session/new": () => ({ sessionId: "s1", configOptions: [{ id: "allow_all", currentValue: "on" }] }),
      "session/set_config_option": () => Promise.reject({ code: -32602, message: "no" }),
    })
    const opening = acp({ name: "copilot", command: "copilot" }).open(openingRequest, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "backend_protocol" })
    expect(agent.ended).toEqual(["kill"])
  })

  test("a session that is loaded records nothing of the conversation that the agent repeats, also after its reply", async () => {
    const ref = { backend: "acp:other", version: "1.2.3", id: "s1", cwd: "/project", resumable: true }
    let toldAll = () => {}
    const isRepeated = new Promise<void>((resolve) => {
      toldAll = resolve
    })
    const { host, stop } = await runScripted(
      async (agent) => {
        await isRepeated
        agent.say("Done.")
      },
      {
        request: { from: { kind: "session", ref, turns: 1 } },
        answers: {
          "session/load"(_, agent) {
            agent.say("An old answer.")
            agent.update(announced(edit("old")))
            setTimeout(() => {
              agent.say("Another old answer.")
              toldAll()
            }, 20)
            return {}
          },
        },
      },
    )
    expect(stop).toEqual(done)
    expect(host.told).toEqual(["text Done."])
  })

  test("a session of Copilot, which counts the tokens of its process, records those of each prompt once", async () => {
    const counts = [
      { inputTokens: 100, outputTokens: 10 },
      { inputTokens: 250, outputTokens: 15 },
    ]
    let prompts = 0
    const { host } = await runScripted(() => {}, {
      options: { name: "copilot", command: "copilot" },
      host: new RecordingHost(() => ({ kind: "refuse", reason: "no" })),
      answers: {
        async "session/prompt"(_, agent) {
          if (prompts === 0) await agent.askPermission(edit("c1"))
          agent.say("Done.")
          return { stopReason: "end_turn", usage: counts[prompts++] ?? {} }
        },
      },
    })
    const used = host.events.flatMap((event) => (event.type === "metering" ? [event.usage] : []))
    expect(used.map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens])).toEqual([
      [100, 10],
      [150, 5],
    ])
  })

  test.each([
    ["that counts each prompt", "other", [10, 30], [10, 30]],
    // A prompt without a figure says nothing about the count of the process.
    ["that counts its process", "copilot", [100, 0, 250], [100, null, 150]],
  ])("a session of an agent %s is metered as such", async (_, name, counts, expected) => {
    let prompts = 0
    const host = new RecordingHost(allowEverything)
    // Safe: as the runtime, which asks for another answer.
    host.review = (async () => (prompts < counts.length ? "Again." : undefined)) as never
    await runScripted(() => {}, {
      ...{ options: { name, command: name }, host },
      answers: {
        "session/prompt"(_, agent) {
          agent.say("Done.")
          const inputTokens = counts[prompts++] ?? 0
          return { stopReason: "end_turn", usage: { inputTokens, outputTokens: inputTokens } }
        },
      },
    })
    expect(host.events.flatMap((event) => (event.type === "metering" ? [event.usage.inputTokens] : []))).toEqual(
      expected,
    )
  })

  const working = (limits: OpenRequest["limits"], end: JsonObject | "crash") =>
    runScripted(() => {}, {
      options: { name: "copilot", command: "copilot" },
      request: { limits },
      answers: {
        async "session/prompt"(_, agent) {
          for (const id of ["c1", "c2"]) {
            agent.update(announced(edit(id)))
            await agent.askPermission(edit(id))
            agent.update({ sessionUpdate: "usage_update", used: 1000, size: 9000 })
            agent.update(ended(id))
          }
          if (end === "crash") {
            agent.crash("out of memory")
            return new Promise<never>(() => {})
          }
          agent.say("Done.")
          return { stopReason: "end_turn", ...end }
        },
      },
    })
  const limited = { turns: 10, reserved: true }
  const each = [
    [1000, 0, 0],
    [1000, 0, 0],
  ]
  const total = { usage: { inputTokens: 2300, outputTokens: 200, cachedReadTokens: 1500 } }

  test.each<readonly [string, OpenRequest["limits"], JsonObject | "crash", readonly (readonly number[])[]]>([
    // Without a count at the end, the running count is all that is known.
    ["unlimited, without a count at the end", { ...limited, reserved: false }, {}, [[2000, 0, 0]]],
    ["unlimited, with a count at the end", { ...limited, reserved: false }, total, [[800, 1500, 200]]],
    ["unlimited, with a crash", { ...limited, reserved: false }, "crash", [[2000, 0, 0]]],
    ["limited, without a count at the end", limited, {}, each],
    ["limited, with a count at the end", limited, total, [...each, [0, 300, 200]]],
    ["limited, with a crash", limited, "crash", each],
  ])("a session records each token of the requests of a prompt once: %s", async (_, limits, end, recorded) => {
    const { host } = await working(limits, end)
    const used = host.events.flatMap((event) => (event.type === "metering" ? [event.usage] : []))
    expect(
      used.map(({ inputTokens, cacheReadTokens, outputTokens }) => [inputTokens, cacheReadTokens, outputTokens]),
    ).toEqual(recorded)
  })

  test("a session of an agent that reports a request before and after its answer records each token of it once", async () => {
    const used = (tokens: number) => ({ sessionUpdate: "usage_update", used: tokens, size: 9000 })
    const { host } = await runScripted(
      async (agent) => {
        agent.update(announced(edit("c1")))
        await agent.askPermission(edit("c1"))
        agent.update(used(1000))
        agent.update(ended("c1"))
        agent.update(used(1500))
        agent.say("Done.")
        agent.update(used(1600))
      },
      { options: { name: "copilot", command: "copilot" }, request: { limits: limited } },
    )
    const recorded = host.events.flatMap((event) => (event.type === "metering" ? [event.usage.inputTokens] : []))
    expect(recorded).toEqual([1000, 1500, 100])
  })

  test("a session of an agent that reports no usage at all has unknown usage, not none", async () => {
    const { host } = await runScripted(() => {}, {
      answers: {
        "session/prompt"(_, agent) {
          agent.say("Done.")
          return { stopReason: "end_turn" }
        },
      },
    })
    const used = host.events.flatMap((event) => (event.type === "metering" ? [event.usage] : []))
    expect(used).toMatchObject([{ inputTokens: null, outputTokens: null, costUsd: null }])
  })

  test.each([
    [1, 10],
    [2, null],
  ])(
    "a session of opencode, which counts its last request only, of %i turns has used %j tokens",
    async (turns, tokens) => {
      const { host } = await runScripted(
        async (agent) => {
          for (let turn = 1; turn < turns; turn++) {
            agent.update(announced(edit(`c${turn}`)))
            await agent.askPermission(edit(`c${turn}`))
            agent.update(ended(`c${turn}`))
          }
          agent.say("Done.")
        },
        { options: { name: "opencode", command: "opencode" } },
      )
      const used = host.events.flatMap((event) => (event.type === "metering" ? [event.usage.inputTokens] : []))
      expect(used).toEqual([tokens])
    },
  )

  test("a session that the agent no longer has is lost", async () => {
    const ref = { backend: "acp:other", version: "1.2.3", id: "s9", cwd: "/project", resumable: true }
    const agent = new ScriptedAgent({ "session/load": () => Promise.reject({ code: -32603, message: "unknown" }) })
    const from = { kind: "session", ref, turns: 1 } as const
    const opening = acp({ name: "other", command: "other" }).open({ ...openingRequest, from }, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "session_lost" })
  })

  test("a session of Gemini is not loaded in the minute of its creation, which would damage it", async () => {
    const data = { createdAt: Date.now() }
    const ref = { backend: "acp:gemini", version: "1.2.3", id: "s1", cwd: "/project", resumable: true, data }
    const agent = new ScriptedAgent({})
    const from = { kind: "session", ref, turns: 1 } as const
    const opening = acp({ name: "gemini", command: "gemini" }).open({ ...openingRequest, from }, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "session_lost" })
    expect(agent.received).toEqual([])
  })

  test("a session of opencode is not opened with settings that cannot be read, since its questions could not be turned on", async () => {
    const env = { OPENCODE_CONFIG_CONTENT: "{ // my settings\n}" }
    const opening = acp({ name: "opencode", command: "opencode", env }).open(
      openingRequest,
      hostOf(new ScriptedAgent({})),
    )
    await expect(opening).rejects.toMatchObject({ code: "config_invalid" })
  })

  test("a session without a login fails as auth, with the command", async () => {
    const agent = new ScriptedAgent({ "session/new": () => Promise.reject({ code: -32000, message: "Log in" }) })
    const opening = acp({ name: "copilot", command: "copilot" }).open(openingRequest, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "auth", fix: expect.stringContaining("copilot login") })
  })
})

describe("default settings of Gemini CLI", () => {
  const started = async (options: { env?: Record<string, string> }, files: readonly string[]) => {
    const agent = new ScriptedAgent({})
    const host = hostOf(agent, files)
    const programs: ProgramSpec[] = []
    const written: string[] = []
    const env: BackendEnv = {
      ...host,
      async spawn(program) {
        programs.push(program)
        return agent
      },
      async stateFile(name, text) {
        if (name === "gemini-defaults.json") written.push(text)
        return `/state/${name}`
      },
    }
    const session = await acp({ name: "gemini", ...options }).open(openingRequest, env)
    await session.close()
    return { variable: programs[0]?.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH, written }
  }

  test("default settings of Gemini CLI turn its own attempts down to one", async () => {
    const { variable, written } = await started({}, [])
    expect(variable).toBe("/state/gemini-defaults.json")
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ general: { maxAttempts: 1 } })
  })

  test("default settings of Gemini CLI replace neither a file of the machine nor one that the caller names", async () => {
    expect(await started({}, ["/etc/gemini-cli/system-defaults.json"])).toEqual({ variable: undefined, written: [] })
    const named = { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: "/mine.json" }
    expect(await started({ env: named }, [])).toEqual({ variable: "/mine.json", written: [] })
    const beside = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: "/org/settings.json" }
    expect(await started({ env: beside }, ["/org/system-defaults.json"])).toMatchObject({ written: [] })
  })
})

describe("an agent that misbehaves", () => {
  const failure = (stop: Stop) => (stop.reason === "failed" ? stop.failure.code : stop.reason)

  test("an agent that writes a line that is no message fails the run", async () => {
    const { stop } = await runScripted((agent) => agent.write({ raw: "panic: oh no" }))
    expect(failure(stop)).toBe("backend_protocol")
  })

  test("an agent that exits in the middle of a call fails the run, with what it wrote to standard error", async () => {
    const { stop, host } = await runScripted(async (agent) => {
      agent.update(announced(edit("c1")))
      await agent.askPermission(edit("c1"))
      agent.crash("out of memory")
      await new Promise(() => {})
    })
    expect(stop).toMatchObject({
      failure: { code: "backend_crashed", message: expect.stringContaining("out of memory") },
    })
    expect(host.told).toEqual(['call Edit {"path":"/project/a.txt","text":"new"}'])
  })

  test("an agent that calls methods that were not offered gets an error at once", async () => {
    let reply: JsonObject = {}
    await runScripted(async (agent) => {
      reply = await agent.ask("fs/write_text_file", { sessionId: "s1", path: "/project/x", content: "x" })
      agent.say("Done.")
    })
    expect(reply).toMatchObject({ error: { code: -32601 } })
  })

  test("an agent that sends updates of an unknown form, or under another method, records nothing of them", async () => {
    const { host, stop } = await runScripted((agent) => {
      const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Not said." } }
      agent.write({ jsonrpc: "2.0", method: "session/other", params: { sessionId: "s1", update: chunk } })
      for (const update of [null, 3, "text", [], {}, { sessionUpdate: "something_new" }]) {
        agent.write({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s1", update } })
      }
      agent.say("Done.")
    })
    expect(stop).toEqual({ reason: "done", text: "Done." })
    expect(host.told).toEqual(["text Done."])
  })

  test("an agent that stops for an unknown reason fails the run", async () => {
    const { stop } = await runScripted(() => {}, { answers: { "session/prompt": () => ({ stopReason: "tired" }) } })
    expect(failure(stop)).toBe("unexpected_stop")
  })

  test("an agent that acts without a question is recorded as it is", async () => {
    const { host } = await runScripted(
      (agent) => {
        agent.update(announced(edit("c1", { rawInput: { path: "/project/a.txt", old_str: "a" } })))
        agent.update(ended("c1"))
        agent.say("Done.")
      },
      { options: { name: "copilot", command: "copilot" } },
    )
    const call = 'call Edit {"path":"/project/a.txt","old_str":"a"}'
    expect(host.told).toEqual([call, "result ok", "text Done."])
  })

  test("a note of an agent about itself is no text of its model", async () => {
    const note = "Info: Request failed due to a transient API error. Retrying..."
    const say = (agent: ScriptedAgent) => {
      agent.say(note)
      agent.say("Done.")
    }
    const { host } = await runScripted(say, { options: { name: "copilot", command: "copilot" } })
    expect(host.told).toEqual(["text Done."])
    expect((await runScripted(say)).host.told).toEqual([`text ${note}Done.`])
  })

  test("an agent that tells an error of its model as an answer fails the run with its code", async () => {
    const { stop, host } = await runScripted(
      (agent) => agent.say("Error: Failed to get response from the AI model: 429 Too many"),
      {
        options: { name: "copilot", command: "copilot" },
      },
    )
    expect(failure(stop)).toBe("rate_limited")
    expect(host.told).toEqual([])
  })
})
