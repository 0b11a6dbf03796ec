import { describe, expect, test } from "vitest"
import { hostOf, openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import type { BackendEnv, ProgramSpec } from "../../contract/backend-env.ts"
import type { ToolSpec } from "../../contract/tool.ts"
import { copilotAgent } from "./copilot.ts"
import { geminiAgent } from "./gemini.ts"
import { type AcpOptions, acp } from "./index.ts"
import { opencodeAgent } from "./opencode.ts"

const tool: ToolSpec = { name: "send", description: "Sends.", inputSchema: { type: "object" } }

/** Opens and closes a session in a workspace with these files. Resolves with how the program was started. */
async function opened(options: AcpOptions, files: readonly string[], more: Partial<BackendEnv> = {}, tools = [tool]) {
  const agent = new ScriptedAgent({
    initialize: () => ({ protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } }),
  })
  let started: ProgramSpec | undefined
  const host = { ...hostOf(agent, files), ...more }
  const spawn = (program: ProgramSpec) => {
    started = program
    return Promise.resolve(agent)
  }
  const session = await acp(options).open({ ...openingRequest, tools }, { ...host, spawn })
  await session.close()
  return started
}

const unasked = [copilotAgent, opencodeAgent].flatMap(({ name, runsUnasked = [] }) =>
  runsUnasked.flatMap((file) => ["/project", ""].map((folder) => [name, `${folder}/${file}`] as const)),
)

describe("a workspace that the user has not declared as trusted", () => {
  test.each(unasked)("%s is not started where %s would run without a question", async (name, file) => {
    const options = { name, command: name }
    const refused = { code: "config_invalid", fix: expect.stringContaining("trustWorkspace") }
    await expect(opened(options, [file])).rejects.toMatchObject(refused)
    expect(await opened({ ...options, trustWorkspace: true }, [file])).toBeDefined()
  })

  test("files of the real folder count where the workspace is a symbolic link", async () => {
    const realPath = async () => "/elsewhere/repository"
    const opening = opened({ name: "copilot", command: "copilot" }, ["/elsewhere/.mcp.json"], { realPath })
    await expect(opening).rejects.toMatchObject({ code: "config_invalid" })
  })

  test("the user's own files in the home folder above the workspace do not count", async () => {
    const variable = (name: string) => (name === "HOME" ? "/" : undefined)
    expect(await opened({ name: "copilot", command: "copilot" }, ["/.mcp.json"], { variable })).toBeDefined()
  })

  const { variable, files, taken } = geminiAgent.trust ?? expect.fail("Gemini has no folder trust")
  const gemini = { name: "gemini", command: "gemini" }

  test("Gemini trusts a folder without settings, which has nothing to trust, and so takes the run's tools", async () => {
    expect((await opened(gemini, []))?.env[variable]).toBe("true")
    expect(geminiAgent.args).not.toContain("--skip-trust")
  })

  test.each(files.map((file) => [file]))(
    "Gemini does not trust a folder with %s, and gets no tools there",
    async (file) => {
      const path = `/project/${file}`
      await expect(opened(gemini, [path])).rejects.toMatchObject({ code: "config_invalid" })
      const env = (await opened(gemini, [path], {}, []))?.env ?? {}
      expect(env[variable]).toBe("false")
      expect(taken.map((name) => env[name])).toEqual(taken.map(() => ""))
      expect((await opened({ ...gemini, trustWorkspace: true }, [path]))?.env[variable]).toBe("true")
    },
  )

  test("Gemini gets its keys, project and location from the user alone in a folder that it does not trust", async () => {
    const variable = (name: string) => (name === "GOOGLE_CLOUD_PROJECT" ? "mine" : undefined)
    const options = { ...gemini, env: { GEMINI_API_KEY: "own" } }
    const { env } = (await opened(options, ["/project/.env"], { variable }, [])) ?? expect.fail("It was not started")
    expect(env).toEqual({
      GEMINI_CLI_SYSTEM_DEFAULTS_PATH: "/state/gemini-defaults.json",
      GEMINI_CLI_TRUST_WORKSPACE: "false",
      GEMINI_API_KEY: "own",
      GOOGLE_API_KEY: "",
      GOOGLE_CLOUD_PROJECT: "mine",
      GOOGLE_CLOUD_LOCATION: "",
    })
  })

  test("Gemini trusts a folder with settings if the user's own variable says so", async () => {
    const env = { [variable]: "true" }
    expect((await opened({ ...gemini, env }, ["/project/.env"]))?.env[variable]).toBe("true")
  })
})
