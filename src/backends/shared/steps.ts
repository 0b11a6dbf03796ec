import type { Stop, ToolCall, TurnHost } from "../../contract/backend.ts"
import type { StopReason } from "../../contract/provider.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { noUsage } from "../../lib/usage.ts"

/**
 * Records the answers of a vendor's model as steps of the run, each with its texts, calls and results. Usage is metered
 * separately, because vendors report it at other times.
 */
export class Steps {
  /** The vendor's name of the model, as far as it is known. */
  model: string
  readonly #host: TurnHost
  #turn: number
  #isOpen = false
  #parts = 0
  #hasCalls = false
  #hasResults = false
  #text = ""
  readonly #calls = new Set<string>()
  readonly #settled = new Set<string>()
  readonly #refused = new Set<string>()

  /** `turns`: the turns of the run before this session. */
  constructor(host: TurnHost, turns: number, model: string) {
    this.#host = host
    this.#turn = turns
    this.model = model
  }

  /** The number of the newest turn. */
  get turn(): number {
    return this.#turn
  }

  /** The text of the newest answer. */
  get text(): string {
    return this.#text
  }

  /** True while an answer is open whose calls have no result yet: what comes now belongs to it. */
  get continues(): boolean {
    return this.#isOpen && !this.#hasResults
  }

  /** Begins the next answer; ends the open one first. A stop: no answer may begin. */
  async begin(): Promise<Stop | undefined> {
    const stop = (await this.end("tool-calls")) ?? (await this.#host.beginTurn(this.#turn + 1, () => nothing))
    if (stop) return stop
    this.#turn++
    this.#isOpen = true
    this.#hasCalls = false
    this.#hasResults = false
    this.#parts = 0
    this.#text = ""
    return undefined
  }

  /** The id of the next part, for its deltas. */
  nextPart(): string {
    return `${this.#turn}.${this.#parts}`
  }

  addText(text: string): void {
    this.#text += text
    this.#host.emit({ type: "text-end", turn: this.#turn, id: this.#takePart(), text })
  }

  /** Records a text that the model could not finish. */
  addPartialText(text: string): void {
    if (!this.#isOpen) return
    this.#host.emit({ type: "text-end", turn: this.#turn, id: this.#takePart(), text, partial: true })
  }

  addReasoning(text: string): void {
    const origin = this.model
    this.#host.emit({ type: "reasoning-end", turn: this.#turn, id: this.#takePart(), text, origin })
  }

  /** Records a call, once. It must be recorded before it is authorized or run. `executor`: the backend runs it itself. */
  addCall({ callId, name, args }: ToolCall, executor?: "backend"): void {
    if (this.#calls.has(callId)) return
    this.#calls.add(callId)
    this.#hasCalls = true
    this.#takePart()
    this.#host.emit({ type: "tool-call", turn: this.#turn, callId, name, args, ...(executor && { executor }) })
  }

  hasCall(callId: string): boolean {
    return this.#calls.has(callId)
  }

  /**
   * Records the result of a call that the backend ran itself, once; again if it ran although it was refused. `rejected`: the vendor
   * did not accept the call.
   */
  addResult(callId: string, outcome: ToolOutcome, { durationMs = 0, rejected = false }: ResultFacts = {}): void {
    const hasRun = this.#refused.has(callId) && outcome.status === "ok"
    if (this.#settled.has(callId) && !hasRun) return
    if (outcome.status === "denied") this.refuse(callId)
    else this.settle(callId)
    this.#host.emit({ type: "tool-result", callId, outcome, durationMs, ...(rejected && { rejected }) })
  }

  /** Notes that the runtime has recorded the refusal of a call. */
  refuse(callId: string): void {
    this.#refused.add(callId)
    this.settle(callId)
  }

  /** Notes that the runtime has recorded the result of a call. */
  settle(callId: string): void {
    this.#settled.add(callId)
    this.#hasResults = true
  }

  /**
   * Leaves the open answer. Its turn continues in another session, which gets the results of its calls. Without a call it is no answer:
   * its turn begins again.
   */
  suspend(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    if (this.#hasCalls) this.#closeAnswer("tool-calls")
  }

  /** Ends the open answer. A stop: the host allows no further turn. */
  async end(stopReason: StopReason): Promise<Stop | undefined> {
    if (!this.#isOpen) return undefined
    this.#isOpen = false
    this.#closeAnswer(stopReason)
    return this.#host.endTurn(this.#turn)
  }

  #closeAnswer(stopReason: StopReason): void {
    this.#host.emit({ type: "usage", turn: this.#turn, usage: noUsage, model: this.model, stopReason })
  }

  #takePart(): string {
    const id = this.nextPart()
    this.#parts++
    return id
  }
}

interface ResultFacts {
  readonly durationMs?: number
  readonly rejected?: boolean
}

/** Nothing can be reserved for a call that is already under way. */
const nothing = { inputTokens: 0, outputTokens: 0 }
