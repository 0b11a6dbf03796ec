import { expect, test } from "vitest"
import { openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import { LonghaulError } from "../../contract/error.ts"
import { JsonRpc } from "../shared/json-rpc.ts"
import { openThread } from "./thread.ts"

/** Resumes the thread `t1` of a Codex that answers with this one. */
function resumed(id: string) {
  const answer = { thread: { id }, cwd: "/project", model: "m" }
  const channel = new ScriptedAgent({ "thread/resume": () => answer })
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
