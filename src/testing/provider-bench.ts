import { LonghaulError } from "../contract/error.ts"
import type { Message } from "../contract/message.ts"
import type { Answer, AnswerSink, ConversationSetup, Model, Transport } from "../contract/provider.ts"
import { canonicalJson } from "../lib/json.ts"
import type { FaultOrder } from "./faults.ts"
import type { SimulatedAnswer } from "./simulated.ts"
import { createSimulator, type Simulator } from "./simulator.ts"

/** A provider under test: creates a model that talks to a simulator. */
export interface ProviderBench {
  /** `provider:model` of the models it creates: reasoning with this origin is sent back to them. */
  readonly origin: string
  /** Cases that its protocol cannot express, each with the reason. */
  readonly lacks?: Readonly<Record<string, string>>
  connect(
    simulator: Simulator,
    options: BenchOptions,
  ): Promise<{ readonly model: Model; readonly transport: Transport }>
}

export interface BenchOptions {
  readonly apiKey?: string
  readonly deadlines?: { readonly firstByteMs?: number; readonly idleMs?: number }
  readonly topP?: number
  readonly stopSequences?: readonly string[]
}

/** One requirement of the provider contract; throws if it is violated. */
export interface ProviderCase {
  readonly name: string
  run(bench: ProviderBench): Promise<void>
}

/** One conversation with a simulator, and everything observed of it. */
export class ProviderScene {
  readonly simulator: Simulator
  readonly events: string[] = []
  readonly #bench: ProviderBench
  readonly #options: BenchOptions
  readonly #abort = new AbortController()
  #conversation: Promise<ReturnType<Model["converse"]>> | undefined
  setup: Omit<ConversationSetup, "transport"> = { tools: [] }
  abortAtStart = false

  constructor(
    bench: ProviderBench,
    answers: SimulatedAnswer | readonly SimulatedAnswer[],
    fault: FaultOrder | null = null,
    { knownKey, ...options }: BenchOptions & { readonly knownKey?: string } = {},
  ) {
    const list: readonly SimulatedAnswer[] = [answers].flat()
    this.#bench = bench
    this.#options = { apiKey: "key", ...options }
    this.simulator = createSimulator({
      // Safe: every case gives at least one answer.
      script: ({ index }) => list[Math.min(index, list.length - 1)] as SimulatedAnswer,
      faults: [fault],
      apiKey: knownKey,
    })
  }

  /** One call, with the events of its sink. */
  async ask(messages: readonly Message[] = [say("Say it")]): Promise<Answer> {
    this.#conversation ??= this.#bench
      .connect(this.simulator, this.#options)
      .then(({ model, transport }) => model.converse({ ...this.setup, transport }))
    return (await this.#conversation).call(messages, this.#sink(), this.#abort.signal)
  }

  /** The failure of one call; throws if it is not in the taxonomy. */
  async failure(messages?: readonly Message[]): Promise<LonghaulError> {
    try {
      await this.ask(messages)
    } catch (error) {
      if (LonghaulError.is(error)) return error
      throw error
    }
    throw new Error("the call should have failed")
  }

  #sink(): AnswerSink {
    return {
      partStart: (kind, index) => {
        this.events.push(`start ${kind} ${index}`)
        if (this.abortAtStart) this.#abort.abort()
      },
      delta: (kind, index, delta) => this.events.push(`${kind} ${index} ${delta}`),
      call: ({ name, args }, index) => this.events.push(`call ${index} ${name} ${JSON.stringify(args)}`),
    }
  }
}

export function say(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] }
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

/** Compares as JSON, whatever the order of keys. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [actual, expected].map((value) => canonicalJson(JSON.parse(JSON.stringify(value ?? null))))
  check(a === b, `${what}: ${a}, expected ${b}`)
}

/** Long enough to be cut, with characters of every width. */
export const TEXT = "I will öook that up ☕, and a little more so that there is something to cut"

export const toolResult = (callId: string, wireId: string, status: "ok" | "error", text: string) =>
  ({ type: "tool-result", callId, wireId, status, output: [{ type: "text", text }] }) as const
