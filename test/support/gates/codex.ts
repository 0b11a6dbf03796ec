import { codex } from "../../../src/backends/codex/index.ts"
import { hookCommand } from "../../../src/backends/codex/settings.ts"
import type { OpenRequest } from "../../../src/contract/backend.ts"
import type { Json, JsonObject } from "../../../src/contract/json.ts"
import { isJsonObject } from "../../../src/lib/json.ts"
import { hostOf, ScriptedAgent } from "../scripted-agent.ts"
import { until } from "../watchdog.ts"
import { type Column, type Direction, over, type ScriptedCall, Stage } from "./column.ts"

export const codexColumn: Column = {
  kinds: ["own", "ours"],
  setUp(direction) {
    const backend = codex()
    return {
      backend: over(backend, {
        open(request) {
          const program = new ScriptedCodex(direction, request)
          return backend.open(request, program.env)
        },
      }),
    }
  },
}

const threadId = "t1"

/** Codex's app-server: asks its hook about each call, and again before it runs a command. */
export class ScriptedCodex {
  readonly env
  readonly agent: ScriptedAgent
  readonly #stage: Stage
  readonly #direction: Direction
  readonly #cwd: string
  #turns = 0
  #tokens = 0

  constructor(direction: Direction, { cwd }: OpenRequest) {
    this.#direction = direction
    this.#cwd = cwd
    this.#stage = new Stage(direction)
    const hook = { command: hookCommand, eventName: "preToolUse", key: "k", currentHash: "h" }
    this.agent = new ScriptedAgent({
      initialize: () => ({ userAgent: "codex/0.166.0", codexHome: "/home/.codex" }),
      "hooks/list": () => ({ data: [{ hooks: [{ ...hook, trustStatus: "trusted", enabled: true }] }] }),
      "account/read": () => ({ account: {}, requiresOpenaiAuth: false }),
      "thread/start": () => ({ thread: { id: threadId }, cwd, model: "m", sandbox: { type: "workspaceWrite" } }),
      "turn/start": () => {
        const id = `turn${++this.#turns}`
        void this.#turn(id)
        return { turn: { id } }
      },
      "turn/interrupt": () => {
        this.#stage.stop()
        return {}
      },
    })
    this.env = hostOf(this.agent)
  }

  async #turn(id: string): Promise<void> {
    this.#tell("turn/started", { turn: { id } })
    const isDone =
      this.#turns > 1 ||
      (await this.#stage.play({
        answer: async (...calls) => {
          for (const call of calls) this.#announce(call)
          this.#tell("rawResponse/completed", {})
          await Promise.all(calls.map((call) => this.#act(call)))
          this.#count(id)
        },
      }))
    if (isDone) {
      this.#tell("item/completed", { item: { type: "agentMessage", id: "message", text: "Done." } })
      this.#count(id)
    }
    this.#tell("turn/completed", { turn: { id, status: isDone ? "completed" : "interrupted" } })
  }

  #announce({ id }: ScriptedCall): void {
    this.#tell("rawResponseItem/completed", { item: { type: "function_call", call_id: id, arguments: "{}" } })
    const run = { id: `pre-tool-use:0:/config.toml:${id}`, eventName: "preToolUse", sourcePath: "/config.toml" }
    this.#tell("hook/started", { run })
  }

  async #act({ id, text }: ScriptedCall): Promise<void> {
    if (this.#direction.kind === "ours") {
      const params = { threadId, callId: id, tool: "send", arguments: { text } }
      await this.agent.ask("item/tool/call", params)
      return
    }
    const tool = { tool_name: "Bash", tool_input: { command: text }, tool_use_id: id, cwd: this.#cwd }
    const answer = await this.#decided({ hook_event_name: "PreToolUse", ...tool })
    if (JSON.stringify(answer) !== "{}") return
    const command = `/bin/bash -lc '${text}'`
    const approval = { threadId, kind: "command", itemId: id, command, cwd: this.#cwd }
    const { result } = await this.agent.ask("item/commandExecution/requestApproval", approval)
    const mayRun = isJsonObject(result) && result.decision === "accept"
    const isOk = mayRun && (await this.#stage.run(text))
    const status = mayRun ? (isOk ? "completed" : "failed") : "declined"
    const item = { type: "commandExecution", id, command, status, exitCode: isOk ? 0 : null }
    this.#tell("item/completed", { item })
  }

  /** The program of the hook refuses if it gets no answer. It starts long after Codex has written what came before. */
  async #decided(question: Json): Promise<Json> {
    await until(() => this.agent.isRead)
    return this.env.service.current?.decide?.(question).catch(() => "exit 2") ?? "exit 2"
  }

  #count(turnId: string): void {
    this.#tokens += 15
    const tokenUsage = { total: { inputTokens: this.#tokens, outputTokens: 0 } }
    this.#tell("thread/tokenUsage/updated", { turnId, tokenUsage })
  }

  #tell(method: string, params: JsonObject): void {
    this.agent.write({ method, params: { threadId, ...params } })
  }
}
