import { describe, expect, test } from "vitest"
import { announced, edit, ended, runScripted } from "../../../test/support/acp-scene.ts"
import { hostOf, openingRequest, RecordingHost, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import type { Stop } from "../../contract/backend.ts"
import type { BackendEnv, ProgramSpec } from "../../contract/backend-env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { acp } from "./index.ts"

const done = { reason: "done", text: "Done." }
describe("a prompt", () => {
  test.each(["/allow-all on", "  /yolo", "!rm -rf .", "@secrets", "#note", "&later"])(
    "never begins with a sign that the agent reads as its own command: %s",
    async (task) => {
      const { agent } = await runScripted((agent) => agent.say("Done."), { task })
      const [sent] = agent.sent("session/prompt")
      expect(sent).toEqual({ sessionId: "s1", prompt: [{ type: "text", text: `Message:\n${task}` }] })
    },
  )
})

describe("a session", () => {
  test("that does not ask before it acts is set back before the first prompt", async () => {
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

  test("that cannot be set back is not opened, and its program is ended", async () => {
    const agent = new ScriptedAgent({
      "session/new": () => ({ sessionId: "s1", configOptions: [{ id: "allow_all", currentValue: "on" }] }),
      "session/set_config_option": () => Promise.reject({ code: -32602, message: "no" }),
    })
    const opening = acp({ name: "copilot", command: "copilot" }).open(openingRequest, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "backend_protocol" })
    expect(agent.ended).toEqual(["kill"])
  })

  test("that is loaded records nothing of the conversation that the agent repeats, also after its reply", async () => {
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

  test("of Copilot, which counts the tokens of its process, records those of each prompt once", async () => {
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

  test("that the agent does not have any more is lost", async () => {
    const ref = { backend: "acp:other", version: "1.2.3", id: "s9", cwd: "/project", resumable: true }
    const agent = new ScriptedAgent({ "session/load": () => Promise.reject({ code: -32603, message: "unknown" }) })
    const from = { kind: "session", ref, turns: 1 } as const
    const opening = acp({ name: "other", command: "other" }).open({ ...openingRequest, from }, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "session_lost" })
  })

  test("of Gemini is not loaded in the minute of its creation, which would damage it", async () => {
    const data = { createdAt: Date.now() }
    const ref = { backend: "acp:gemini", version: "1.2.3", id: "s1", cwd: "/project", resumable: true, data }
    const agent = new ScriptedAgent({})
    const from = { kind: "session", ref, turns: 1 } as const
    const opening = acp({ name: "gemini", command: "gemini" }).open({ ...openingRequest, from }, hostOf(agent))
    await expect(opening).rejects.toMatchObject({ code: "session_lost" })
    expect(agent.received).toEqual([])
  })

  test.each([
    ["copilot", "/project/.github/hooks"],
    ["copilot", "/.github/hooks"],
    ["opencode", "/project/.opencode/plugin"],
    ["opencode", "/project/.opencode/plugins"],
  ])(
    "of %s is not opened where %s would run without a question, unless the workspace is trusted",
    async (name, file) => {
      const agent = new ScriptedAgent({})
      const options = { name, command: name }
      const opening = acp(options).open(openingRequest, hostOf(agent, [file]))
      await expect(opening).rejects.toMatchObject({
        code: "config_invalid",
        fix: expect.stringContaining("trustWorkspace"),
      })
      expect(agent.received).toEqual([])
      const session = await acp({ ...options, trustWorkspace: true }).open(openingRequest, hostOf(agent, [file]))
      await session.close()
    },
  )

  test("of opencode is not opened with settings that cannot be read, since its questions could not be turned on", async () => {
    const env = { OPENCODE_CONFIG_CONTENT: "{ // my settings\n}" }
    const opening = acp({ name: "opencode", command: "opencode", env }).open(
      openingRequest,
      hostOf(new ScriptedAgent({})),
    )
    await expect(opening).rejects.toMatchObject({ code: "config_invalid" })
  })

  test("without a login fails as auth, with the command", async () => {
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
        written.push(text)
        return `/state/${name}`
      },
    }
    const session = await acp({ name: "gemini", ...options }).open(openingRequest, env)
    await session.close()
    return { variable: programs[0]?.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH, written }
  }

  test("turn its own attempts down to one", async () => {
    const { variable, written } = await started({}, [])
    expect(variable).toBe("/state/gemini-defaults.json")
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ general: { maxAttempts: 1 } })
  })

  test("replace neither a file of the machine nor one that the caller names", async () => {
    expect(await started({}, ["/etc/gemini-cli/system-defaults.json"])).toEqual({ variable: undefined, written: [] })
    const named = { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: "/mine.json" }
    expect(await started({ env: named }, [])).toEqual({ variable: "/mine.json", written: [] })
    const beside = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: "/org/settings.json" }
    expect(await started({ env: beside }, ["/org/system-defaults.json"])).toMatchObject({ written: [] })
  })
})

describe("an agent that misbehaves", () => {
  const failure = (stop: Stop) => (stop.reason === "failed" ? stop.failure.code : stop.reason)

  test("by a line that is no message fails the run", async () => {
    const { stop } = await runScripted((agent) => agent.write({ raw: "panic: oh no" }))
    expect(failure(stop)).toBe("backend_protocol")
  })

  test("by its exit in the middle of a call fails the run, with what it wrote to standard error", async () => {
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

  test("by methods that were not offered gets an error at once", async () => {
    let reply: JsonObject = {}
    await runScripted(async (agent) => {
      reply = await agent.ask("fs/write_text_file", { sessionId: "s1", path: "/project/x", content: "x" })
      agent.say("Done.")
    })
    expect(reply).toMatchObject({ error: { code: -32601 } })
  })

  test("by an unknown reason to stop fails the run", async () => {
    const { stop } = await runScripted(() => {}, { answers: { "session/prompt": () => ({ stopReason: "tired" }) } })
    expect(failure(stop)).toBe("unexpected_stop")
  })

  test("by acting without a question is recorded, with a warning where it should have asked", async () => {
    const { host } = await runScripted(
      (agent) => {
        agent.update(announced(edit("c1", { rawInput: { path: "/project/a.txt", old_str: "a" } })))
        agent.update(ended("c1"))
        agent.say("Done.")
      },
      { options: { name: "copilot", command: "copilot" } },
    )
    const call = 'call Edit {"path":"/project/a.txt","old_str":"a"}'
    expect(host.told).toEqual([call, "warning call_not_asked", "result ok", "text Done."])
  })

  test("by telling an error of its model as an answer fails the run with its code", async () => {
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
