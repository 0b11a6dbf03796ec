import type { ContextSetup, MeasuredContext, TurnMessage } from "../../../contract/compaction.ts"
import type { ContentPart } from "../../../contract/content.ts"
import type { Message } from "../../../contract/message.ts"
import type { Usage } from "../../../contract/result.ts"
import { estimateMessage, estimateTokens } from "../../../lib/compaction/estimate.ts"
import { contextTokens } from "../../../lib/usage.ts"
import type { History } from "../history.ts"

type Settings = Pick<ContextSetup, "at" | "keep" | "window" | "accepted"> & { readonly measured?: MeasuredContext }

/** The size of the next request: what the provider reported last, and an estimate of what is new since. */
export class ContextMeter {
  /** Lowered by what a refused request reveals about it. */
  window: number
  readonly #history: History
  readonly #settings: Settings
  readonly #fixedText: () => string
  readonly #answerTokens: number
  /** True if the model has answered in this process: its provider may have the conversation in a cache. */
  isAnswered = false
  /** The longest request that the model has accepted. */
  accepted: number
  /** Tokens of the request that was refused: it has to become shorter, whatever the window is. Until the next compaction. */
  refused = Number.POSITIVE_INFINITY
  /** The tokens of a request with the first `count` messages, and of its answer. */
  #known: { readonly tokens: number; readonly count: number; readonly answer: number | null } | undefined
  #fixed: number | undefined
  /** Reported ÷ estimated. Computed when it is needed. */
  #ratio: number | undefined
  #lastRatio = 1

  /** `fixedText`: the part of every request apart from the messages. */
  constructor(history: History, settings: Settings, fixedText: () => string, answerTokens: number) {
    this.#history = history
    this.#settings = settings
    this.#fixedText = fixedText
    this.#answerTokens = answerTokens
    this.window = settings.window
    // A smaller window was set since: what the larger one accepted says nothing about it.
    this.accepted = (settings.accepted ?? 0) <= settings.window ? (settings.accepted ?? 0) : 0
    const { measured } = settings
    if (measured) {
      const count = Math.max(0, history.said.length - measured.since)
      this.#known = { tokens: measured.tokens, count, answer: null }
    }
  }

  /** A longer request is shortened before it is sent. */
  get limit(): number {
    const { window } = this
    return Math.min(this.#settings.at * window, window - this.answerRoom - 0.02 * window)
  }

  get answerRoom(): number {
    return Math.min(this.#answerTokens, MAX_ANSWER_ROOM, this.window / 4)
  }

  /** The size that a compaction aims at. */
  get target(): number {
    return Math.min(0.4 * this.limit, 0.5 * this.refused)
  }

  /** Tokens of the newest messages that stay as they are. */
  get keep(): number {
    const usual = this.#settings.keep ?? Math.min(40_000, Math.max(4_000, 0.1 * this.window))
    return Math.min(usual, this.refused / 8)
  }

  /** The part of every request apart from the messages. */
  get fixed(): number {
    return this.ratio * this.#fixedEstimate()
  }

  get ratio(): number {
    if (this.#known === undefined) return this.#lastRatio
    if (this.#ratio === undefined) {
      const estimate = this.#fixedEstimate() + estimateOf(this.#history.said.slice(0, this.#known.count))
      this.#ratio = Math.min(HIGHEST_RATIO, Math.max(LOWEST_RATIO, this.#known.tokens / Math.max(1, estimate)))
      this.#lastRatio = this.#ratio
    }
    return this.#ratio
  }

  /** The size of the next request. */
  tokens(): number {
    if (this.#known === undefined) return this.sizeOf(this.#history.said)
    return this.#known.tokens + this.ratio * estimateOf(this.#history.said.slice(this.#known.count))
  }

  /** The size of a request with these messages. */
  sizeOf(said: readonly TurnMessage[]): number {
    return this.fixed + this.tokensIn(said)
  }

  tokensIn(said: readonly TurnMessage[]): number {
    return this.ratio * estimateOf(said)
  }

  tokensOf(message: Message): number {
    return this.ratio * estimateMessage(message)
  }

  /** True if the next request is too long. Most are so far from it that nothing has to be estimated. */
  isTooLong(): boolean {
    return this.#mostTokens() > this.limit && this.tokens() > this.limit
  }

  /** Call before the answer is added: the provider counted what came before it. */
  settle(usage: Usage): void {
    const tokens = contextTokens(usage)
    this.isAnswered = true
    this.accepted = Math.max(this.accepted, tokens ?? 0)
    this.#known =
      tokens === null ? undefined : { tokens, count: this.#history.said.length, answer: usage.outputTokens ?? null }
    this.#ratio = undefined
  }

  /** Call after the history was replaced: no usage from before is valid for it. */
  reset(tokens: number): void {
    this.refused = Number.POSITIVE_INFINITY
    this.#ratio = this.ratio
    this.#known = { tokens, count: this.#history.said.length, answer: 0 }
  }

  #fixedEstimate(): number {
    this.#fixed ??= estimateTokens(this.#fixedText())
    return this.#fixed
  }

  /** An upper bound without reading any text: a character is at most a token by the estimate. */
  #mostTokens(): number {
    const { said } = this.#history
    const { tokens, count, answer } = this.#known ?? { tokens: undefined, count: 0, answer: null }
    let most = tokens ?? HIGHEST_RATIO * this.#fixedText().length
    for (let index = count; index < said.length; index++) {
      const message = said[index]?.message
      if (message === undefined) continue
      // The answer was counted by the provider.
      if (message.role === "assistant" && answer !== null && index === count) most += answer
      else most += HIGHEST_RATIO * lengthOf(message)
    }
    return most
  }
}

function estimateOf(said: readonly TurnMessage[]): number {
  return said.reduce((sum, { message }) => sum + estimateMessage(message), 0)
}

function lengthOf(message: Message): number {
  let length = AROUND
  for (const part of message.content) {
    if (part.type === "tool-result") for (const each of part.output) length += AROUND + contentLength(each)
    else if (part.type === "tool-call") length += AROUND + part.name.length + JSON.stringify(part.args).length
    else length += part.type === "reasoning" ? part.text.length : contentLength(part)
  }
  return length
}

function contentLength(part: ContentPart): number {
  return part.type === "text" ? part.text.length : AN_ATTACHMENT + part.data.length / 20
}

const MAX_ANSWER_ROOM = 32_000
const LOWEST_RATIO = 0.7
const HIGHEST_RATIO = 3
const AROUND = 20
const AN_ATTACHMENT = 1_600
