import { expect, test } from "vitest"
import { openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { JsonRpc } from "../shared/json-rpc.ts"
import { execute, openThread } from "./thread.ts"

type Answers = ConstructorParameters<typeof ScriptedAgent>[0]

/** Resumes the thread `t1` of a Codex that answers with this one. */
function resumed(id: string, answers: Answers = {}) {
  return resumedOn(
    new ScriptedAgent({
      "thread/resume": () => ({ thread: { id }, cwd: "/project", model: "m", sandbox: "read-only" }),
      ...answers,
    }),
  )
}

function resumedOn(channel: ScriptedAgent) {
  const rpc = new JsonRpc(channel, {
    ...{ name: "codex", versioned: false, replyMs: 60_000, onRequest: () => undefined, onNotification() {} },
    toError: ({ message }) => new LonghaulError("backend_crashed", message),
  })
  const ref = { backend: "codex", version: "1", id: "t1", cwd: "/project", resumable: true }
  const request = { ...openingRequest, from: { kind: "session", ref, turns: 1 } } as const
  const options = { sandbox: "read-only", openMs: 60_000 }
  return openThread({ channel, rpc, version: "1", home: "/home" }, request, options)
}

test("a thread is resumed if it is the requested one, and no other", async () => {
  expect(await resumed("t1")).toMatchObject({ id: "t1", cwd: "/project" })
  await expect(resumed("t2")).rejects.toMatchObject({ code: "session_lost" })
})

const ended = { "command/exec": () => ({ stdout: "out\n", stderr: "err", exitCode: 0 }) }
const outcome = (status: ToolOutcome["status"], text: string) => ({ status, output: [{ type: "text", text }] })

test.each([
  ["Bash", { command: "ls -l" }, ["/bin/zsh", "-lc", "ls -l"]],
  ["ApplyPatch", { patch: "*** Begin Patch" }, ["apply_patch", "*** Begin Patch"]],
])("an approved call of %s runs once as its program, in the sandbox of the thread", async (name, args, command) => {
  const ran: unknown[] = []
  const thread = await resumed("t1", {
    "command/exec": (params) => {
      ran.push(params)
      return ended["command/exec"]()
    },
  })
  const { signal } = new AbortController()
  expect(await execute(thread, { callId: "c1", name, args }, { shell: "/bin/zsh", signal })).toEqual(
    outcome("ok", "out\nerr"),
  )
  expect(ran).toMatchObject([{ command, cwd: "/project", sandboxPolicy: "read-only" }])
})

test("an approved call of an MCP server is a call of that server", async () => {
  const thread = await resumed("t1", {
    "mcpServer/tool/call": (params) => ({ content: [{ type: "text", text: JSON.stringify(params) }] }),
  })
  const call = { callId: "c1", name: "mcp:notes/read", args: { id: 7 } }
  expect(await execute(thread, call, { shell: "", signal: new AbortController().signal })).toEqual(
    outcome("ok", '{"threadId":"t1","server":"notes","tool":"read","arguments":{"id":7}}'),
  )
})

test("an approved call of another tool is left to the model, and runs nothing", async () => {
  const thread = await resumed("t1")
  const call = { callId: "c1", name: "WebSearch", args: {} }
  const { status } = await execute(thread, call, { shell: "", signal: new AbortController().signal })
  expect(status).toBe("error")
})

test("an approved command whose end is not reported is unknown", async () => {
  const thread = await resumed("t1", {
    "command/exec": () => {
      throw { code: -32603, message: "gone" }
    },
  })
  const call = { callId: "c1", name: "Bash", args: { command: "ls" } }
  const { status } = await execute(thread, call, { shell: "/bin/sh", signal: new AbortController().signal })
  expect(status).toBe("unknown")
})
