import type { Stop } from "../../../contract/backend.ts"
import type { Compaction, CompactionSettings, ContextSetup } from "../../../contract/compaction.ts"
import { LonghaulError } from "../../../contract/error.ts"
import type { Message } from "../../../contract/message.ts"
import type { Model, Transport } from "../../../contract/provider.ts"
import type { Usage } from "../../../contract/result.ts"
import type { ToolSpec } from "../../../contract/tool.ts"
import { onAbort } from "../../../lib/abort.ts"
import { fetchTransport } from "../../../lib/fetch-transport.ts"
import { wholeNumber } from "../../../lib/known-keys.ts"
import { defaultRetry, type RetryPolicy } from "../../../lib/retry.ts"
import { modelValue, retryShape, toolSpec, transport } from "../../../lib/schema/contract-shapes.ts"
import { checkShape, listOf, required, type Shape, shapeOf } from "../../../lib/schema/shape.ts"
import { Controls } from "../controls.ts"
import { History } from "../history.ts"
import { modelFailure } from "../model-failure.ts"
import { Compactor } from "./compactor.ts"
import { ContextMeter } from "./meter.ts"
import type { CompactionHost } from "./summarise.ts"

export { estimateFirstTurnInput, type FirstTurnInput } from "../../../lib/compaction/estimate.ts"

export interface CompactionManagerOptions extends Pick<CompactionSettings, "at" | "keep" | "window" | "instructions"> {
  /** Writes the summaries. Its `contextTokens` are the default of `window`. */
  readonly model: Model
  /** The part of every request apart from the messages. */
  readonly system?: string
  readonly tools?: readonly ToolSpec[]
  /** Tokens kept free for an answer. Default: the model's `maxOutputTokens`, else 8,192. */
  readonly answerTokens?: number
  readonly transport?: Transport
  readonly retry?: Partial<RetryPolicy>
  /** Stops a summary that is being written. */
  readonly signal?: AbortSignal
  /** Called for a summary that failed and was replaced by an extract, for example. */
  readonly onWarning?: (warning: { readonly code: string; readonly message: string }) => void
}

/** A conversation that is kept within the context of a model, for hosts with their own loop. */
export interface CompactionManager {
  /** The messages of the next request. */
  readonly messages: readonly Message[]
  /** Adds what was said. Each answer of the model begins a turn; the ids of the calls in all turns must differ. */
  add(...messages: readonly Message[]): void
  /** Takes the usage of an answer, before the answer is added. Without it, sizes are estimated. */
  settle(usage: Usage): void
  /**
   * Call before each request: shortens the conversation if it is too long. Resolves to what was changed, if anything. Rejects
   * with `compaction_stuck` if it cannot be made smaller, with `cancelled` after the signal.
   */
  beforeRequest(): Promise<Compaction | undefined>
  /** Call after a request was refused as too long, then send it again. Rejects as above, also at the third refusal in a row. */
  onOverflow(error: unknown, usage?: Usage): Promise<Compaction | undefined>
  /** Shortens the conversation now: all but its last turn becomes a summary. */
  compact(): Promise<Compaction | undefined>
}

/** The compaction of the native backend alone, over messages in memory. */
export function createCompactionManager(options: CompactionManagerOptions): CompactionManager {
  const { model, system = "", tools = [], onWarning, signal } = checked(options)
  const controls = new Controls()
  if (signal?.aborted) controls.interrupt("immediate")
  onAbort(signal, () => controls.interrupt("immediate"))
  const history = new History()
  const context = contextOf(options)
  const answerTokens = options.answerTokens ?? model.maxOutputTokens ?? USUAL_OUTPUT_TOKENS
  const meter = new ContextMeter(history, context, () => system + JSON.stringify([tools, null]), answerTokens)
  let turn = 0
  let made: Compaction | undefined
  const host: CompactionHost = {
    beginCompaction: async () => ({ text: "" }),
    async endCompaction(compaction) {
      made = compaction
      return compaction
    },
    emit(event) {
      if (event.type === "warning") onWarning?.({ code: event.code, message: event.message })
      return event
    },
  }
  const compactor = new Compactor({
    ...{ history, context, meter, model, controls, host },
    bounds: { reset() {}, next: () => ({ inputTokens: 0, outputTokens: 0 }) },
    transport: options.transport ?? fetchTransport(),
    retry: { ...defaultRetry, ...options.retry },
    instructions: options.instructions,
    canFetch: tools.some(({ name }) => name === "FetchData"),
  })

  async function changed(shorten: () => Promise<Stop | undefined>): Promise<Compaction | undefined> {
    made = undefined
    const stop = await shorten()
    if (stop) throw errorOf(stop)
    return made
  }

  return {
    get messages() {
      return history.messages
    },
    add(...messages) {
      for (const message of messages) {
        if (message.role === "assistant") turn++
        history.add(turn, message)
      }
    },
    settle: (usage) => meter.settle(usage),
    beforeRequest: () => changed(() => compactor.beforeRequest(turn + 1)),
    onOverflow: (error, usage) => changed(() => compactor.onOverflow(turn + 1, modelFailure(error), usage)),
    compact() {
      controls.askToCompact()
      return changed(() => compactor.beforeRequest(turn + 1))
    },
  }
}

function checked(options: CompactionManagerOptions): CompactionManagerOptions {
  checkShape<CompactionManagerOptions>("createCompactionManager", options, optionsShape)
  const { at, keep, window, answerTokens } = options
  if (at !== undefined && !(at > 0 && at <= 1)) {
    throw new LonghaulError("config_invalid", "at is not a share of the window.", {
      fix: "Give at as a number above 0 and at most 1.",
    })
  }
  for (const [name, value] of Object.entries({ keep, window, answerTokens }))
    if (value !== undefined) wholeNumber(name, value)
  return options
}

function contextOf({ at = 0.8, keep, window, model }: CompactionManagerOptions): ContextSetup {
  const known = window ?? model.contextTokens
  return {
    at,
    ...(keep !== undefined && { keep }),
    window: known ?? ASSUMED_WINDOW,
    isAssumed: known === undefined,
    ...{ said: [], recent: [], isAsked: false },
  }
}

function errorOf(stop: Stop): LonghaulError {
  if (stop.reason !== "failed") return new LonghaulError("cancelled", "The compaction was stopped by its signal.")
  const { code, message, ...details } = stop.failure
  return new LonghaulError(code, message, details)
}

const optionsShape: Shape<CompactionManagerOptions> = {
  at: "number",
  keep: "number",
  window: "number",
  instructions: "text",
  model: required(modelValue),
  system: "text",
  tools: listOf(toolSpec),
  answerTokens: "number",
  transport,
  retry: shapeOf<Partial<RetryPolicy>>(retryShape),
  signal: "signal",
  onWarning: "function",
}
const ASSUMED_WINDOW = 128_000
/** Kept free for an answer whose limit is not known. */
const USUAL_OUTPUT_TOKENS = 8_192
