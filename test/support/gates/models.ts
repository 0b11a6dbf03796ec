import { native } from "../../../src/backends/native/index.ts"
import { pi } from "../../../src/backends/pi/index.ts"
import type {
  PiAgentOptions,
  PiAssistant,
  PiEvent,
  PiMessage,
  PiModel,
  PiModules,
  PiPart,
} from "../../../src/backends/pi/shapes.ts"
import { scriptedModel } from "../../../src/testing/index.ts"
import { type Column, type Direction, type ScriptedCall, Stage } from "./column.ts"

/** The built-in loop with a model that answers as the test directs it. */
export const nativeColumn: Column = {
  kinds: ["ours"],
  setUp(direction) {
    const answers = new Answers(direction)
    const step = async () => {
      const calls = await answers.next()
      if (calls === undefined) return "Done."
      return { parts: calls.map(({ id, text }) => ({ toolCall: { name: "send", id, args: { text } } })) }
    }
    return { backend: native(), model: scriptedModel(Array(20).fill(step)) }
  },
}

/** Pi's agent loop: asks before each request, runs the calls of a step together, and asks whether to go on. */
export const piColumn: Column = {
  kinds: ["ours"],
  setUp(direction) {
    const answers = new Answers(direction)
    class Agent {
      readonly state: { messages: readonly PiMessage[] } = { messages: [] }
      readonly #options: PiAgentOptions
      #listen: (event: PiEvent) => Promise<void> | void = () => {}
      #isAborted = false
      constructor(options: PiAgentOptions) {
        this.#options = options
      }
      subscribe(listener: (event: PiEvent) => Promise<void> | void) {
        this.#listen = listener
        return () => {}
      }
      steer() {}
      abort() {
        this.#isAborted = true
      }
      async prompt(message: PiMessage) {
        this.state.messages = [...this.state.messages, message]
        await this.continue()
      }
      async continue() {
        for (;;) {
          await this.#options.prepareRequest({ context: { messages: this.state.messages } })
          if (this.#isAborted) return
          const message = answerOf(await answers.next())
          this.state.messages = [...this.state.messages, message]
          await this.#listen({ type: "message_end", message })
          await Promise.all(message.content.map((part) => this.#run(part)))
          const next = await this.#options.finishTurn({ message })
          if (next?.action === "end" || this.#isAborted) return
        }
      }
      async #run(part: PiPart) {
        if (part.type !== "toolCall") return
        const tool = this.#options.initialState.tools.find(({ name }) => name === part.name)
        const result = (await tool?.execute(part.id, part.arguments)) ?? { content: [] }
        await this.#listen({ type: "tool_execution_end", toolCallId: part.id, result })
      }
    }
    const modules: PiModules = {
      agent: { Agent },
      ai: {
        getModel: () => piModel,
        getModels: () => [piModel],
        streamSimple: () => ({ result: () => Promise.reject(new Error("not used")) }),
      },
    }
    return { backend: pi({ load: async () => modules, resolvePiApiKey: () => "key" }), model: "openai:m" }
  },
}

/** The answers of a model, each when the one before was used. */
class Answers {
  readonly #direction: Direction
  #made: ((calls: readonly ScriptedCall[] | undefined) => void) | undefined
  #used: (() => void) | undefined
  #isPlayed = false

  constructor(direction: Direction) {
    this.#direction = direction
  }

  /** Undefined: the last one, without a call. */
  next(): Promise<readonly ScriptedCall[] | undefined> {
    const next = new Promise<readonly ScriptedCall[] | undefined>((resolve) => {
      this.#made = resolve
    })
    if (this.#isPlayed) this.#used?.()
    else void this.#play()
    return next
  }

  async #play(): Promise<void> {
    this.#isPlayed = true
    await new Stage(this.#direction).play({
      answer: (...calls) =>
        new Promise((resolve) => {
          this.#used = resolve
          this.#made?.(calls)
        }),
    })
    this.#made?.(undefined)
  }
}

const piModel: PiModel = {
  ...{ id: "m", name: "m", api: "openai-responses", provider: "openai", baseUrl: "https://example.com" },
  ...{ reasoning: false, input: ["text"], contextWindow: 100_000, maxTokens: 100 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
}

function answerOf(calls: readonly ScriptedCall[] | undefined): PiAssistant {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  const made = calls?.map(({ id, text }): PiPart => ({ type: "toolCall", id, name: "send", arguments: { text } }))
  return {
    ...{ role: "assistant", api: "a", provider: "openai", model: "m", timestamp: 0 },
    content: made ?? [{ type: "text", text: "Done." }],
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
    stopReason: made ? "toolUse" : "stop",
  }
}
