import { Inbox } from "../../../src/backends/claude/inbox.ts"
import { claudeCli } from "../../../src/backends/claude-cli/index.ts"
import { type ClaudeAgentSdk, claudeSdk } from "../../../src/backends/claude-sdk/index.ts"
import type { HostOptions } from "../../../src/backends/claude-sdk/sdk.ts"
import type { LineChannel, LoopbackService, ProgramExit } from "../../../src/contract/backend-env.ts"
import type { Json, JsonObject } from "../../../src/contract/json.ts"
import { plainText } from "../../../src/lib/content.ts"
import { isJsonObject } from "../../../src/lib/json.ts"
import { hostOf, ScriptedAgent } from "../scripted-agent.ts"
import { type Column, type Direction, over, type ScriptedCall, Stage } from "./column.ts"

/** How Claude Code speaks to its host. */
interface Wire {
  tell(message: Json): void
  hook(input: JsonObject): Promise<Json>
  permit(name: string, input: JsonObject, id: string): Promise<Json>
}

export const claudeCliColumn: Column = {
  kinds: ["own", "ours"],
  setUp(direction) {
    const backend = claudeCli()
    return {
      backend: over(backend, {
        open(request) {
          const channel = new ControlChannel()
          const env = { ...hostOf(new ScriptedAgent({})), spawn: async () => channel }
          const program = new ScriptedClaude(direction, channel, env.service)
          channel.onUser = () => program.prompted()
          channel.onInterrupt = () => program.stop()
          return backend.open(request, env)
        },
      }),
    }
  },
}

export const claudeSdkColumn: Column = {
  kinds: ["own", "ours"],
  setUp(direction) {
    const service: { current?: LoopbackService } = {}
    const backend = claudeSdk({ sdk: scriptedSdk(direction, service) })
    return {
      backend: over(backend, {
        open(request) {
          const host = hostOf(new ScriptedAgent({}))
          const env = {
            ...host,
            spawn: async () => new ControlChannel(),
            async loopback(given: LoopbackService) {
              service.current = given
              return { mcp: { url: "http://127.0.0.1:1/mcp", headers: {} }, gate: [], close: async () => {} }
            },
          }
          return backend.open(request, env)
        },
      }),
    }
  },
}

/** Claude Code: asks its hook about each call, and then for permission. */
class ScriptedClaude {
  readonly #stage: Stage
  readonly #direction: Direction
  readonly #wire: Wire
  readonly #service: { readonly current?: LoopbackService }
  #answers = 0
  #isPrompted = false
  #deferred: string | undefined

  constructor(direction: Direction, wire: Wire, service: { readonly current?: LoopbackService }) {
    this.#direction = direction
    this.#wire = wire
    this.#service = service
    this.#stage = new Stage(direction)
  }

  stop(): void {
    this.#stage.stop()
  }

  /** A message of a person has come. */
  async prompted(): Promise<void> {
    const isDone = this.#isPrompted || (await this.#play())
    const end = isDone
      ? { subtype: "success", is_error: false, result: "Done.", terminal_reason: "completed" }
      : { subtype: "error_during_execution", is_error: true, terminal_reason: "aborted_tools" }
    const deferred = this.#deferred === undefined ? {} : { deferred_tool_use: { id: this.#deferred } }
    this.#wire.tell({ type: "result", ...end, ...deferred })
  }

  #play(): Promise<boolean> {
    this.#isPrompted = true
    return this.#stage.play({
      answer: async (...calls) => {
        const id = `m${++this.#answers}`
        this.#wire.tell({ type: "stream_event", event: { type: "message_start", message: { id, model: "m" } } })
        const content = calls.map((call) => ({ type: "tool_use", ...this.#shown(call) }))
        this.#wire.tell({ type: "assistant", message: { id, model: "m", content } })
        await Promise.all(calls.map((call) => this.#act(call)))
      },
    })
  }

  #shown({ id, text }: ScriptedCall) {
    return this.#direction.kind === "own"
      ? { id, name: "Bash", input: { command: text } }
      : { id, name: "mcp__longhaul__send", input: { text } }
  }

  async #act(call: ScriptedCall): Promise<void> {
    const { id, name, input } = this.#shown(call)
    const asked = { hook_event_name: "PreToolUse", tool_name: name, tool_input: input, tool_use_id: id }
    const { permissionDecision } = member(await this.#wire.hook(asked), "hookSpecificOutput")
    if (permissionDecision === "defer") {
      this.#deferred = id
      return
    }
    const permit = permissionDecision === "ask" ? await this.#wire.permit(name, input, id) : {}
    const mayRun = isJsonObject(permit) && permit.behavior === "allow"
    const isOk = mayRun && (await this.#run(call, name))
    const result = { type: "tool_result", tool_use_id: id, is_error: !isOk, content: isOk ? "done" : "failed" }
    this.#wire.tell({ type: "user", message: { content: [result] } })
  }

  async #run({ id, text }: ScriptedCall, name: string): Promise<boolean> {
    if (this.#direction.kind === "own") return this.#stage.run(text)
    const outcome = await this.#service.current?.callTool({ name, args: { text }, callId: id })
    return outcome?.status === "ok" && plainText(outcome.output, "") !== ""
  }
}

/** The control protocol of `claude -p`. */
class ControlChannel implements LineChannel, Wire {
  readonly lines: AsyncIterable<string>
  readonly exit: Promise<ProgramExit>
  onUser: () => void = () => {}
  onInterrupt: () => void = () => {}
  readonly #output = new Inbox<string>()
  readonly #asked = new Map<string, (answer: Json) => void>()
  #exited: (exit: ProgramExit) => void = () => {}

  constructor() {
    this.lines = iterate(this.#output)
    this.exit = new Promise((resolve) => {
      this.#exited = resolve
    })
  }

  async send(line: string): Promise<void> {
    const message: unknown = JSON.parse(line)
    if (!isJsonObject(message)) throw new Error("The client sent no object")
    if (message.type === "user") this.onUser()
    if (message.type === "control_request") {
      const isInterrupt = member(message, "request").subtype === "interrupt"
      if (isInterrupt) this.onInterrupt()
      const response = { hook_on_failure_supported: true, claude_code_version: "2.1.325" }
      const reply = { subtype: "success", request_id: message.request_id ?? "", response }
      this.tell({ type: "control_response", response: reply })
    }
    if (message.type === "control_response") {
      const { request_id, response = null } = member(message, "response")
      this.#asked.get(String(request_id))?.(response)
    }
  }

  tell(message: Json): void {
    this.#output.push(JSON.stringify(message))
  }

  hook(input: JsonObject): Promise<Json> {
    return this.#ask({ subtype: "hook_callback", callback_id: "gate", input })
  }

  permit(name: string, input: JsonObject, id: string): Promise<Json> {
    return this.#ask({ subtype: "can_use_tool", tool_name: name, input, tool_use_id: id })
  }

  endInput(): void {
    this.#output.end()
    this.#exited({ code: 0, signal: null, stderr: "" })
  }

  async end(): Promise<void> {
    this.endInput()
  }

  #ask(request: JsonObject): Promise<Json> {
    const id = `q${this.#asked.size + 1}`
    this.tell({ type: "control_request", request_id: id, request })
    return new Promise((resolve) => this.#asked.set(id, resolve))
  }
}

/** The Agent SDK, whose query calls the hooks of its options. */
function scriptedSdk(direction: Direction, service: { readonly current?: LoopbackService }): ClaudeAgentSdk {
  return {
    query({ prompt, options }) {
      const host: HostOptions = options
      const messages = new Inbox<Json>()
      const [hook] = host.hooks.PreToolUse.flatMap(({ hooks }) => hooks)
      host.spawnClaudeCodeProcess({ command: "claude", args: [], env: {} })
      const program = new ScriptedClaude(
        direction,
        {
          tell: (message) => messages.push(message),
          hook: async (input) => hook?.(input) ?? null,
          permit: (name, input, toolUseID) => host.canUseTool(name, input, { toolUseID }),
        },
        service,
      )
      void (async () => {
        for await (const _ of prompt) void program.prompted()
      })()
      return {
        [Symbol.asyncIterator]: () => iterate(messages)[Symbol.asyncIterator](),
        initializationResult: async () => ({ claude_code_version: "2.1.325" }),
        interrupt: async () => program.stop(),
        close: () => messages.end(),
      }
    },
  }
}

async function* iterate<Value>(inbox: Inbox<Value>): AsyncGenerator<Value> {
  for (let value = await inbox.next(); value !== undefined; value = await inbox.next()) yield value
}

function member(value: Json, name: string): JsonObject {
  const found = isJsonObject(value) ? value[name] : undefined
  return isJsonObject(found) ? found : {}
}
