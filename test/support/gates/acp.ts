import { acp } from "../../../src/backends/acp/index.ts"
import type { JsonObject } from "../../../src/contract/json.ts"
import { announced, ended } from "../acp-scene.ts"
import { hostOf, ScriptedAgent } from "../scripted-agent.ts"
import { type Column, over, type ScriptedCall, Stage } from "./column.ts"

/** An agent of the Agent Client Protocol. `name`: of a known one. */
export function acpColumn(name: string): Column {
  return {
    kinds: ["own", "ours"],
    setUp(direction) {
      const backend = acp({ name })
      return {
        backend: over(backend, {
          open(request) {
            const stage = new Stage(direction)
            let isPlayed = false
            const agent: ScriptedAgent = new ScriptedAgent({
              async "session/prompt"() {
                const answer = (...calls: readonly ScriptedCall[]) => settled(calls.map(act))
                // Refusals reach the model with another prompt.
                const isDone = isPlayed || (await stage.play({ answer }))
                isPlayed = true
                if (isDone) agent.say("Done.")
                return { stopReason: isDone ? "end_turn" : "cancelled", usage: { inputTokens: 10, outputTokens: 5 } }
              },
              "session/cancel"() {
                stage.stop()
                return null
              },
            })
            const env = hostOf(agent)
            const act = async (call: ScriptedCall) => {
              if (direction.kind === "ours") {
                await env.service.current?.callTool({ name: "send", args: { text: call.text } })
                return
              }
              const shown = shellCall(call)
              agent.update(announced(shown))
              const mayRun = (await agent.askPermission(shown)) === "id of allow_once"
              const isOk = mayRun && (await stage.run(call.text))
              agent.update(ended(String(shown.toolCallId), isOk ? "completed" : "failed"))
            }
            return backend.open(request, env)
          },
        }),
      }
    },
  }
}

/** A command, in the names of every known agent: Gemini CLI has the tool's name in the id, opencode in the title. */
function shellCall({ id, text }: ScriptedCall): JsonObject {
  return {
    ...{ toolCallId: `run_shell_command__${id}`, title: "bash", kind: "execute", status: "pending" },
    rawInput: { command: text },
  }
}

async function settled(work: readonly Promise<void>[]): Promise<void> {
  await Promise.all(work)
}
