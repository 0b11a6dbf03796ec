import type { Stop, ToolCall, TurnHost } from "../../contract/backend.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { Steps } from "../shared/steps.ts"

interface RecordingDesk {
  /** The run has to stop. Called once. */
  onHalt(stop: Stop): void
  /** Something could not be recorded: the run must not continue without it. */
  onFailure(error: unknown): void
  /** Another answer of the model begins. */
  onStep(): void
}

/** Records what an agent reports, in the order of arrival. The protocol does not mark where an answer begins. */
export class Recording {
  readonly steps: Steps
  readonly #host: TurnHost
  readonly #desk: RecordingDesk
  #queue: Promise<void> = Promise.resolve()
  #open: { readonly kind: "text" | "reasoning"; text: string } | undefined
  #lastDelta = ""
  #isHalted = false

  constructor(host: TurnHost, turns: number, model: string, desk: RecordingDesk) {
    this.steps = new Steps(host, turns, model)
    this.#host = host
    this.#desk = desk
  }

  /** The newest piece of text. */
  get lastDelta(): string {
    return this.#lastDelta
  }

  /** Runs work after everything that came before; if it fails, so does the run. It must not wait for a decision: that would delay other records. */
  enqueue<Value>(work: () => Value | Promise<Value>): Promise<Value> {
    const done = this.#queue.then(work)
    this.#queue = done.then(nothing, (error: unknown) => {
      this.#isHalted = true
      this.#desk.onFailure(error)
    })
    return done
  }

  /** Resolves when everything that came so far is recorded. */
  idle(): Promise<void> {
    return this.#queue
  }

  /** Text or reasoning of the model. */
  async addDelta(kind: "text" | "reasoning", delta: string): Promise<void> {
    if (delta === "" || !(await this.begin())) return
    if (this.#open?.kind !== kind) {
      this.#closeText()
      this.#open = { kind, text: "" }
      if (this.#host.deltas) this.#host.show({ type: `${kind}-start`, id: this.steps.nextPart() })
    }
    this.#open.text += delta
    if (kind === "text") this.#lastDelta = delta
    if (this.#host.deltas) this.#host.show({ type: `${kind}-delta`, id: this.steps.nextPart(), delta })
  }

  /** Records a call in the newest answer. False: the run is being stopped. */
  async addCall(call: ToolCall, executor?: "backend"): Promise<boolean> {
    if (this.steps.hasCall(call.callId)) return true
    if (!(await this.begin())) return false
    this.#closeText()
    this.steps.addCall(call, executor)
    return true
  }

  /** `rejected`: the agent itself did not accept the call. */
  addResult(callId: string, outcome: ToolOutcome, rejected = false): void {
    this.#closeText()
    this.steps.addResult(callId, outcome, { rejected })
  }

  /** The runtime has recorded the refusal of a call. */
  refuse(callId: string): void {
    this.#closeText()
    this.steps.refuse(callId)
  }

  /** The runtime has recorded the result of a call. */
  settle(callId: string): void {
    this.#closeText()
    this.steps.settle(callId)
  }

  /** Makes sure that an answer is open. False: the run is being stopped. */
  async begin(): Promise<boolean> {
    if (this.#isHalted) return false
    if (this.steps.continues) return true
    this.#closeText()
    this.#desk.onStep()
    const stop = await this.steps.begin()
    if (stop === undefined) return true
    this.#isHalted = true
    this.#desk.onHalt(stop)
    return false
  }

  /** Ends the answer. A stop: the host allows no further turn. */
  end(): Promise<Stop | undefined> {
    this.#closeText()
    return this.steps.end("end")
  }

  /** Leaves the answer as it is. */
  leave(isPartial: boolean): void {
    const open = this.#open
    if (isPartial && open?.kind === "text") {
      this.#open = undefined
      this.steps.addPartialText(open.text)
    }
    this.#closeText()
    this.steps.suspend()
  }

  /** Forgets the open text: it is not the model's. */
  dropText(): void {
    this.#open = undefined
  }

  #closeText(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined || open.text === "") return
    if (open.kind === "text") this.steps.addText(open.text)
    else this.steps.addReasoning(open.text)
  }
}

function nothing(): void {}
