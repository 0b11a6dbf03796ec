import { acp } from "../../src/backends/acp/index.ts"
import type { Backend, TurnHost } from "../../src/contract/backend.ts"
import type { Json } from "../../src/contract/json.ts"
import type { AssistantMessage, Message, ToolResultPart } from "../../src/contract/message.ts"
import type { Answer, Model } from "../../src/contract/provider.ts"
import { fetchTransport } from "../../src/lib/fetch-transport.ts"
import { totalTokens } from "../../src/lib/usage.ts"
import { announced, ended } from "./acp-scene.ts"
import { over } from "./gates/column.ts"
import { hostOf, ScriptedAgent } from "./scripted-agent.ts"

/** Where requests of agents are counted. */
interface Requests {
  /** An agent asks its model. */
  begin(): void
  /** The budget has counted a request. */
  count(): void
}

/** ACP agents of one process that ask a model, and report what each request has used. They die with their process. */
export class MeteredAgents {
  readonly backend: Backend
  readonly #model: Model
  readonly #requests: Requests
  readonly #agents = new Set<{ readonly agent: ScriptedAgent; readonly stop: AbortController }>()
  #isDead = false

  constructor(model: Model, requests: Requests) {
    this.#model = model
    this.#requests = requests
    const backend = acp({ name: "copilot" })
    this.backend = over(backend, {
      open: async (request) => {
        if (this.#isDead) return new Promise<never>(() => {})
        const started = this.#start(request.tools.map(({ name }) => name))
        this.#agents.add(started)
        const session = await backend.open(request, started.env)
        return over(session, {
          run: (input, host) => session.run(input, this.#counting(host)),
          close: () => session.close().finally(() => this.#agents.delete(started)),
        })
      },
    })
  }

  /** Returns how many of them it kills. */
  die(): number {
    this.#isDead = true
    for (const { agent, stop } of this.#agents) {
      stop.abort()
      agent.crash("its process has died")
    }
    return this.#agents.size
  }

  #counting(host: TurnHost): TurnHost {
    return over(host, {
      emit: (event) => {
        const recorded = host.emit(event)
        if (event.type === "metering" && totalTokens(event.usage) && !this.#isDead) this.#requests.count()
        return recorded
      },
    })
  }

  #start(tools: readonly string[]) {
    const stop = new AbortController()
    const messages: Message[] = []
    const agent: ScriptedAgent = new ScriptedAgent({
      "session/prompt": async ({ prompt }) => {
        messages.push({ role: "user", content: [{ type: "text", text: textOf(prompt) }] })
        const stopReason = await this.#work(agent, messages, stop.signal, callTool)
        // Copilot reports the tokens of its whole process at the end, and nothing if it was stopped.
        return { stopReason }
      },
      "session/cancel"() {
        stop.abort()
        return null
      },
    })
    const env = hostOf(agent)
    const callTool = async (name: string, args: Json) => {
      if (tools.includes(name)) return env.service.current?.callTool({ name, args })
      return undefined
    }
    return { agent, stop, env }
  }

  /** Asks the model and runs its calls until it makes no more. Failed requests are repeated. */
  async #work(
    agent: ScriptedAgent,
    messages: Message[],
    signal: AbortSignal,
    callTool: (name: string, args: Json) => Promise<unknown>,
  ): Promise<string> {
    for (let turn = 1; !signal.aborted; turn++) {
      this.#requests.begin()
      const answer = await this.#ask(messages, signal)
      if (answer === undefined) return "cancelled"
      agent.update({ sessionUpdate: "usage_update", used: totalTokens(answer.usage) ?? 0, size: 100_000 })
      const content = answer.parts.flatMap((part, index) => partOf(part, `${turn}.${index}`))
      messages.push({ role: "assistant", content })
      for (const part of content) if (part.type === "text") agent.say(part.text)
      const made = content.filter((part) => part.type === "tool-call")
      if (made.length === 0) return "end_turn"
      const results = await Promise.all(
        made.map(async ({ callId, wireId = "", name, args }): Promise<ToolResultPart> => {
          if (name !== "look") await callTool(name, args)
          else await this.#run(agent, callId)
          return { type: "tool-result", callId, wireId, status: "ok", output: [{ type: "text", text: "Done." }] }
        }),
      )
      messages.push({ role: "tool", content: results })
    }
    return "cancelled"
  }

  /** Undefined: it was stopped. */
  async #ask(messages: readonly Message[], signal: AbortSignal): Promise<Answer | undefined> {
    const conversation = this.#model.converse({ tools: [], transport: fetchTransport() })
    while (!signal.aborted) {
      const answer = await conversation.call(messages, {}, signal).catch(() => undefined)
      if (answer) return answer
    }
    return undefined
  }

  /** A call of its own tool, which looks at something. */
  async #run(agent: ScriptedAgent, id: string): Promise<void> {
    const call = { toolCallId: id, title: "look", kind: "execute", status: "pending", rawInput: { command: "ls" } }
    agent.update(announced(call))
    const isPermitted = (await agent.askPermission(call)) === "id of allow_once"
    agent.update(ended(id, isPermitted ? "completed" : "failed"))
  }
}

function partOf(part: Answer["parts"][number], callId: string): AssistantMessage["content"] {
  if (part.type === "text") return [part]
  return part.type === "tool-call" ? [{ ...part, callId }] : []
}

function textOf(prompt: Json | undefined): string {
  return JSON.stringify(prompt ?? "")
}
