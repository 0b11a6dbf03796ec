import type { OpenRequest, Stop, TurnBound, TurnHost } from "../../contract/backend.ts"
import type { Failure } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import type { Transport } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import { defaultRetry } from "../../lib/retry.ts"
import { Compactor } from "../shared/compaction/compactor.ts"
import { ContextMeter } from "../shared/compaction/meter.ts"
import type { Controls } from "../shared/controls.ts"
import { History } from "../shared/history.ts"
import { tokensAtMost } from "../shared/token-bound.ts"
import { TurnBounds } from "../shared/turn-bounds.ts"
import type { PiModel } from "./shapes.ts"
import { type Summariser, summaryModel } from "./summary-model.ts"

export interface PiContextSetup extends Summariser {
  readonly model: PiModel
  readonly request: OpenRequest
  readonly system?: string | undefined
  readonly transportOfHost: Transport
}

/** The conversation as it was recorded. Pi's agent never shortens its messages: the runtime does, and hands them back. */
export class PiContext {
  readonly #history: History
  readonly #bounds: TurnBounds
  readonly #compaction: { readonly compactor: Compactor; readonly meter: ContextMeter } | undefined
  #isReplaced = false

  constructor(setup: PiContextSetup, host: TurnHost, controls: Controls) {
    const { model, request, system, transportOfHost } = setup
    const { context, from, settings } = request
    const before = from.kind === "history" ? from.messages : []
    const said = context?.said.slice(0, before.length) ?? before.map((message) => ({ turn: from.turns, message }))
    this.#history = new History(said, () => {
      this.#isReplaced = true
    })
    const fixedText = () => (system ?? "") + JSON.stringify([request.tools, request.outputSchema ?? null])
    const answerTokens = settings.maxOutputTokens ?? model.maxTokens
    this.#bounds = new TurnBounds(this.#history, () => tokensAtMost(fixedText()), answerTokens)
    if (!context) return
    // Pi has a table of windows.
    const known = context.isAssumed ? { ...context, window: model.contextWindow, isAssumed: false } : context
    const meter = new ContextMeter(this.#history, known, fixedText, answerTokens)
    const compactor = new Compactor({
      ...{ history: this.#history, bounds: this.#bounds, context: known, meter, host, controls, retry: defaultRetry },
      model: context.model ?? summaryModel(setup),
      transport: transportOfHost,
      instructions: context.instructions,
      canFetch: request.tools.some(({ name }) => name === "FetchData"),
    })
    this.#compaction = { compactor, meter }
  }

  readonly bound = (): TurnBound => this.#bounds.next()

  add(turn: number, message: Message): void {
    this.#history.add(turn, message)
  }

  /** Call before the answer is added. */
  settle(usage: Usage): void {
    this.#bounds.settle(usage)
    this.#compaction?.meter.settle(usage)
  }

  beforeRequest(turn: number): Promise<Stop | undefined> | undefined {
    return this.#compaction?.compactor.beforeRequest(turn)
  }

  /** Undefined: the conversation is shorter, and the same turn asks again. */
  async onOverflow(turn: number, failure: Failure): Promise<Stop | undefined> {
    if (!this.#compaction) return { reason: "failed", failure }
    return this.#compaction.compactor.onOverflow(turn, failure, undefined)
  }

  /** The messages, if they differ from the earlier ones. */
  takeReplaced(): readonly Message[] | undefined {
    if (!this.#isReplaced) return undefined
    this.#isReplaced = false
    return this.#history.messages
  }
}
