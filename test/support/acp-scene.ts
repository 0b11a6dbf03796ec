import { type AcpOptions, acp } from "../../src/backends/acp/index.ts"
import type { OpenRequest } from "../../src/contract/backend.ts"
import type { JsonObject } from "../../src/contract/json.ts"
import { allowEverything, hostOf, openingRequest, RecordingHost, ScriptedAgent } from "./scripted-agent.ts"

type OnPrompt = (agent: ScriptedAgent, params: JsonObject) => Promise<void> | void

interface Scene {
  readonly options?: AcpOptions
  readonly request?: Partial<OpenRequest>
  readonly host?: RecordingHost
  readonly task?: string
  readonly answers?: ConstructorParameters<typeof ScriptedAgent>[0]
}

/** Runs one session whose agent does this on each prompt, and then ends its turn. */
export async function runScripted(onPrompt: OnPrompt, scene: Scene = {}) {
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

export const edit = (id: string, more: JsonObject = {}): JsonObject => ({
  ...{ toolCallId: id, title: "Editing", kind: "edit", status: "pending" },
  rawInput: { path: "/project/a.txt", text: "new" },
  ...more,
})

export const announced = (call: JsonObject): JsonObject => ({ sessionUpdate: "tool_call", ...call })
export const ended = (id: string, status = "completed"): JsonObject => ({
  ...{ sessionUpdate: "tool_call_update", toolCallId: id, status },
  content: [{ type: "content", content: { type: "text", text: "written" } }],
})
