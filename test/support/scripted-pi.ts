import { pi } from "../../src/backends/pi/index.ts"
import type {
  PiAgentOptions,
  PiAssistant,
  PiEvent,
  PiMessage,
  PiModel,
  PiModules,
  PiPart,
} from "../../src/backends/pi/shapes.ts"
import type { BackendSession, OpenRequest, Stop, TurnBound, TurnHost } from "../../src/contract/backend.ts"
import type { ToolOutcome } from "../../src/contract/tool.ts"
import { allowEverything, hostOf, openingRequest, RecordingHost, ScriptedAgent } from "./scripted-agent.ts"

const model: PiModel = {
  ...{ id: "m", name: "m", api: "openai-responses", provider: "openai", baseUrl: "https://example.com" },
  ...{ reasoning: false, input: ["text"], contextWindow: 100_000, maxTokens: 100 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
}

/** The parts of an answer, or how the model ended it instead. */
export type Answer =
  | readonly PiPart[]
  | (Pick<PiAssistant, "content" | "stopReason" | "errorMessage"> & Partial<Pick<PiAssistant, "usage">>)

/** Pi's agent loop as Pi runs it: asks before each request, runs the calls, and asks whether to go on. `ai`: other functions of Pi. */
export function scripted(answers: readonly Answer[], ai: Partial<PiModules["ai"]> = {}) {
  const seen = { requests: 0, aborted: false, prompts: 0, replaced: 0, messages: [] as (readonly PiMessage[])[] }
  class Agent {
    readonly state: { messages: readonly PiMessage[] }
    readonly #options: PiAgentOptions
    #listen: (event: PiEvent) => Promise<void> | void = () => {}
    constructor(options: PiAgentOptions) {
      this.#options = options
      this.state = { messages: options.initialState.messages }
    }
    subscribe(listener: (event: PiEvent) => Promise<void> | void) {
      this.#listen = listener
      return () => {}
    }
    steer() {}
    abort() {
      seen.aborted = true
    }
    async prompt(message: PiMessage) {
      seen.prompts++
      this.state.messages = [...this.state.messages, message]
      await this.continue()
    }
    async continue() {
      await this.#listen({ type: "agent_start" })
      for (const answer of answers) {
        const prepared = await this.#options.prepareRequest({ context: { messages: this.state.messages } })
        if (prepared !== undefined) seen.replaced++
        seen.messages.push(prepared?.context?.messages ?? this.state.messages)
        if (seen.aborted) return
        seen.requests++
        const message = answerOf(answer)
        const { content } = message
        for (const [contentIndex, part] of content.entries()) {
          const delta = part.type === "text" ? part.text : ""
          await this.#listen({
            type: "message_update",
            assistantMessageEvent: { type: "text_delta", contentIndex, delta },
          })
        }
        this.state.messages = [...this.state.messages, message]
        await this.#listen({ type: "message_end", message })
        for (const part of content) {
          if (part.type !== "toolCall") continue
          const tool = this.#options.initialState.tools.find(({ name }) => name === part.name)
          const result = (await tool?.execute(part.id, part.arguments)) ?? { content: [] }
          await this.#listen({ type: "tool_execution_end", toolCallId: part.id, result })
        }
        const next = await this.#options.finishTurn({ message })
        if (next?.action === "end" || seen.aborted) return
      }
    }
  }
  const modules: PiModules = {
    agent: { Agent },
    ai: {
      getModel: () => model,
      getModels: () => [model],
      streamSimple: () => ({ result: () => Promise.reject(new Error("not used")) }),
      ...ai,
    },
  }
  return { seen, modules }
}

function answerOf(answer: Answer): PiAssistant {
  const { content, ...ended } = "content" in answer ? answer : { content: answer }
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  return {
    ...{ role: "assistant", content, api: "a", provider: "openai", model: "m", timestamp: 0 },
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
    stopReason: content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop",
    ...ended,
  }
}

export const send: PiPart = { type: "toolCall", id: "w1", name: "send", arguments: { to: "Ada" } }
export const say = (text: string): PiPart => ({ type: "text", text })

/** Records what a session tells, and can stop it. */
export class PiHost extends RecordingHost {
  /** The session that works for it. */
  session?: BackendSession
  turnsLeft = 9
  outcome: ToolOutcome | { readonly status: "suspended" } = { status: "ok", output: [{ type: "text", text: "sent" }] }
  readonly shown: unknown[] = []
  constructor() {
    super(allowEverything)
  }
  override show(event?: unknown) {
    this.shown.push(event)
  }
  readonly bounds: number[] = []
  override beginTurn = async (_turn?: number, bound?: () => TurnBound): Promise<Stop | undefined> => {
    this.bounds.push(bound?.().inputTokens ?? 0)
    return this.turnsLeft-- > 0 ? undefined : { reason: "limit" }
  }
  override endCompaction: TurnHost["endCompaction"] = async (compaction) => compaction
  override async callTool(call: Parameters<RecordingHost["callTool"]>[0]) {
    await super.callTool(call)
    // Safe: the session takes both; the double of the other backends has no suspended calls.
    return this.outcome as ToolOutcome
  }
}

export async function run(
  answers: readonly Answer[],
  host = new PiHost(),
  request: Partial<OpenRequest> = {},
  ai: Partial<PiModules["ai"]> = {},
) {
  const { seen, modules } = scripted(answers, ai)
  const backend = pi({ load: async () => modules, resolvePiApiKey: () => "key" })
  const opening = { ...openingRequest, model: "openai:m", ...request }
  const session = await backend.open(opening, hostOf(new ScriptedAgent({})))
  host.session = session
  const stop = await session.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] }, host)
  await session.close()
  return { stop, host, ...seen }
}
