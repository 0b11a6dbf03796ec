import { expect, test } from "vitest"
import { hostOf, openingRequest, ScriptedAgent } from "../../../test/support/scripted-agent.ts"
import { scriptedModel } from "../../testing/index.ts"
import { native } from "./index.ts"

test("a stored session of the built-in loop is lost, because its sessions are only in the journal", async () => {
  const ref = { backend: "native", version: "1", id: "s1", cwd: "/project", resumable: true }
  const request = { ...openingRequest, model: scriptedModel([]), from: { kind: "session", ref, turns: 1 } as const }
  const opening = native().open(request, hostOf(new ScriptedAgent({})))
  await expect(opening).rejects.toMatchObject({ code: "session_lost", fix: "Open it with the history of the run." })
})
