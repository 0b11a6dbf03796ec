import { expect, test } from "vitest"
import { hostOf, openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import type { ProgramSpec } from "../../contract/backend-env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { type Connection, checkLogin } from "./connection.ts"
import { type CodexOptions, codex } from "./index.ts"
import { hookCommand } from "./settings.ts"

/** Starts a session with a program that reports this hook. Resolves with the arguments of each start. */
async function startedWith(hook: JsonObject, options: CodexOptions = {}) {
  const started: ProgramSpec[] = []
  const ours = { command: hookCommand, eventName: "preToolUse", key: "k", currentHash: "h", ...hook }
  const host = hostOf(new ScriptedAgent({}))
  const opening = codex(options).open(
    { ...openingRequest, cwd: "/project/part" },
    {
      ...host,
      realPath: async () => "/real/part",
      async spawn(program) {
        started.push(program)
        return new ScriptedAgent({
          initialize: () => ({ userAgent: "codex/0.166.0", codexHome: "/home/.codex" }),
          "hooks/list": () => ({ data: [{ hooks: [ours] }] }),
          "account/read": () => Promise.reject({ code: -1, message: "stop here" }),
        })
      },
    },
  )
  const error: unknown = await opening.then(
    () => undefined,
    (reason) => reason,
  )
  return { started, error }
}

test("Codex is told that the workspace, all folders above it and their real paths are not trusted", async () => {
  const { started } = await startedWith({ trustStatus: "trusted", enabled: true })
  const [projects] = started[0]?.args.filter((argument) => argument.startsWith("projects=")) ?? []
  for (const folder of ["/project/part", "/project", "/", "/real/part", "/real"]) {
    expect(projects).toContain(`"${folder}"={"trust_level"="untrusted"}`)
  }
})

test.each([
  ["nothing", {}, ["GIT_DIR"]],
  ["a list", { shell_environment_policy: { exclude: ["MINE"] } }, ["MINE", "GIT_DIR"]],
  ["a list by its dotted name", { "shell_environment_policy.exclude": ["MINE"] }, ["MINE", "GIT_DIR"]],
])(
  "Codex itself finds no repository, and its commands get none of its variables if the caller excludes %s",
  async (_, config, excluded) => {
    const { started } = await startedWith({ trustStatus: "trusted", enabled: true }, { config })
    expect(started[0]?.env).toMatchObject({ GIT_DIR: "/dev/null" })
    const last = started[0]?.args.findLast((argument) => argument.startsWith("shell_environment_policy.exclude="))
    expect(last).toBe(`shell_environment_policy.exclude=${JSON.stringify(excluded)}`)
  },
)

test.each([
  ["is not trusted", { trustStatus: "untrusted", enabled: true }],
  ["is trusted, but disabled", { trustStatus: "trusted", enabled: false }],
  ["is another command", { trustStatus: "trusted", enabled: true, command: "true" }],
  ["is of another event", { trustStatus: "trusted", enabled: true, eventName: "postToolUse" }],
])("Codex is not used if its hook %s", async (_, hook) => {
  const { error } = await startedWith(hook)
  expect(error).toMatchObject({ code: "backend_protocol" })
})

test("Codex is started again if other programs disturb it while they create the database of a new home", async () => {
  let starts = 0
  const host = hostOf(new ScriptedAgent({}))
  const opening = codex().open(openingRequest, {
    ...host,
    async spawn() {
      const isDisturbed = ++starts <= 2
      const agent: ScriptedAgent = new ScriptedAgent({
        initialize() {
          if (isDisturbed) agent.crash("Error: failed to initialize sqlite state runtime under /home/.codex")
          return isDisturbed ? new Promise<never>(() => {}) : { userAgent: "codex/0.166.0", codexHome: "/home/.codex" }
        },
        "hooks/list": () => Promise.reject({ code: -1, message: "stop here" }),
      })
      return agent
    },
  })
  await expect(opening).rejects.toMatchObject({ message: expect.stringContaining("stop here") })
  expect(starts).toBe(3)
})

test.each([
  ["needs a login and has none", { account: null, requiresOpenaiAuth: true }, "auth"],
  ["says nothing of its account", { requiresOpenaiAuth: true }, "auth"],
  ["is logged in", { account: { type: "apiKey" }, requiresOpenaiAuth: true }, undefined],
  ["needs no login", { account: null, requiresOpenaiAuth: false }, undefined],
])("a Codex that %s", async (_, answer, code) => {
  const rpc = { request: async () => answer }
  // Safe: nothing else of a connection is used.
  const checked = await checkLogin({ rpc } as unknown as Connection).catch((error: { code: string }) => error.code)
  expect(checked).toBe(code)
})
