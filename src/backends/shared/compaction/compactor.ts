import type { Stop } from "../../../contract/backend.ts"
import type { Compaction, ContextSetup, PastCompaction } from "../../../contract/compaction.ts"
import type { Failure } from "../../../contract/error.ts"
import type { Usage } from "../../../contract/result.ts"
import { compacted } from "../../../lib/compaction/compacted.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { windowIn } from "../../../lib/overflow-texts.ts"
import type { History } from "../history.ts"
import type { TurnBounds } from "../turn-bounds.ts"
import { summarised, summaryMessage, wordsOf } from "./head.ts"
import type { ContextMeter } from "./meter.ts"
import { clippedResults, cutOf, largeLastTurn, oldResults } from "./plan.ts"
import { stuck } from "./stuck.ts"
import { extract, type Summarising, summarise } from "./summarise.ts"

export interface CompactorSetup extends Summarising {
  readonly history: History
  readonly bounds: Pick<TurnBounds, "reset">
  readonly context: ContextSetup
  /** True if the model can read a removed result again. */
  readonly canFetch: boolean
}

type Change = Pick<Compaction, "head" | "results" | "usage" | "model" | "durationMs">

/** Keeps the conversation within the model's context: only between turns, never while a call is open. */
export class Compactor {
  readonly #setup: CompactorSetup
  readonly #history: History
  readonly #meter: ContextMeter
  #recent: readonly PastCompaction[]
  #hasWarned = false
  #tried = { turn: 0, times: 0 }

  constructor(setup: CompactorSetup) {
    this.#setup = setup
    this.#history = setup.history
    this.#meter = setup.meter
    this.#recent = setup.context.recent
  }

  /** Before a turn. Returns a stop if the run cannot continue. */
  async beforeRequest(turn: number): Promise<Stop | undefined> {
    if (this.#setup.controls.takeCompactRequest()) {
      const stop = await this.#compact(turn, "asked")
      if (stop) return stop
    }
    return this.#meter.isTooLong() ? this.#compact(turn, "threshold") : undefined
  }

  /** After the model refused a request as too long. The same turn then asks again, at most twice. */
  async onOverflow(turn: number, failure: Failure, usage: Usage | undefined): Promise<Stop | undefined> {
    this.#tried = { turn, times: this.#tried.turn === turn ? this.#tried.times + 1 : 1 }
    this.#learn(failure, usage)
    this.#meter.refused = this.#meter.tokens()
    if (this.#tried.times <= MAX_OVERFLOWS) return this.#compact(turn, "overflow")
    return this.#stuck("The model still refuses the conversation as too long after it was shortened twice.")
  }

  /**
   * A refusal that names no window, or one that the request should have fitted in, was at least below its own size. The window is
   * never below a request that was accepted, and the size of a body in bytes says nothing about it.
   */
  #learn(failure: Failure, usage: Usage | undefined): void {
    const meter = this.#meter
    const told = toldBy(failure, usage)
    if (told === undefined && isAboutBytes(failure)) return
    const tokens = meter.tokens()
    const refused = 0.95 * (tokens + meter.answerRoom)
    const learned = tokens <= meter.target ? Math.min(told ?? refused, refused) : (told ?? refused)
    meter.window = Math.min(meter.window, Math.max(learned, meter.accepted))
  }

  async #compact(turn: number, cause: Compaction["cause"]): Promise<Stop | undefined> {
    const refusal = cause === "asked" ? undefined : this.#refusal(turn, cause)
    if (refusal) return refusal
    const { host } = this.#setup
    const before = Math.round(this.#meter.tokens())
    const change = (cause === "asked" ? undefined : this.#pruned()) ?? (await this.#shortened(turn, cause))
    if ("reason" in change) return change
    if (!change.head && !change.results) {
      if (change.usage) host.emit({ type: "metering", usage: change.usage, failed: "reported" })
      return this.#unchanged(cause)
    }
    const after = Math.round(this.#meter.sizeOf(compacted(this.#history.said, change)))
    const window = Math.round(this.#meter.window)
    const recorded = await host.endCompaction({ turn, cause, window, ...change, tokens: { before, after } })
    if (recorded === undefined) return { reason: "interrupted" }
    this.#history.replace(compacted(this.#history.said, recorded))
    this.#meter.reset(after)
    this.#setup.bounds.reset()
    if (cause === "asked") return undefined
    this.#recent = [...this.#recent, { turn, window, after, hasHead: change.head !== undefined }]
    return this.#isLooping(turn) ? this.#stuck(LOOPING) : undefined
  }

  /** Why a compaction would be useless, before any call is made for it. */
  #refusal(turn: number, cause: Compaction["cause"]): Stop | undefined {
    this.#warnOfAssumption()
    const mayFit = cause === "threshold" && this.#setup.context.isAssumed
    if (this.#meter.fixed > MAX_FIXED_PART * this.#meter.limit && !mayFit)
      return this.#stuck("The system prompt and the tools leave too little room for a conversation.")
    return this.#isLooping(turn) ? this.#stuck(LOOPING) : undefined
  }

  /** Removing old results needs no model and keeps what was said. It must free enough: each compaction costs the cache. */
  #pruned(): Change | undefined {
    const { said } = this.#history
    const results = oldResults(said, this.#meter, this.#meter.keep, this.#note())
    if (results === null) return undefined
    return this.#meter.sizeOf(compacted(said, { results })) <= this.#meter.target ? { results } : undefined
  }

  async #shortened(turn: number, cause: Compaction["cause"]): Promise<Change | Stop> {
    const { said } = this.#history
    const meter = this.#meter
    const results = cause === "asked" ? null : largeLastTurn(said, meter, this.#note())
    if (results) return { results }
    const cut = cutOf(said, (at) => cause !== "asked" && this.#fits(at))
    const change: { -readonly [Key in keyof Change]: Change[Key] } = {}
    if (cut) {
      const { at, ...place } = cut
      const started = performance.now()
      const summary = await summarise(this.#setup, turn, said.slice(0, at))
      if ("reason" in summary) return summary
      const { answer, text, facts } = summary
      const headOf = (given: string) => {
        const head = { ...place, messages: [...wordsOf(said, at, meter), summaryMessage(given, facts)] }
        return cause === "asked" || meter.sizeOf(compacted(said, { head })) < meter.sizeOf(said) ? head : undefined
      }
      // A summary that is no smaller than what it replaces would be paid for with every request.
      const head = headOf(text) ?? headOf(extract(this.#setup, summarised(said.slice(0, at)), "it was not shorter"))
      if (head) change.head = head
      change.durationMs = Math.round(performance.now() - started)
      if (answer) {
        change.usage = answer.usage
        change.model = answer.model
      }
    }
    const shorter = compacted(said, change)
    if (meter.sizeOf(shorter) <= meter.target) return change
    const clipped = clippedResults(shorter, meter, this.#note())
    return clipped === null ? change : { ...change, results: clipped }
  }

  /** True if what is behind a cut may stay, and with a head before it meets the target. */
  #fits(at: number): boolean {
    const { said } = this.#history
    const meter = this.#meter
    const tail = meter.tokensIn(said.slice(at))
    if (tail > meter.keep) return false
    const words = meter.tokensIn(wordsOf(said, at, meter).map((message) => ({ turn: 0, message })))
    return meter.fixed + tail + words + meter.window / EXPECTED_SUMMARY <= meter.target
  }

  /** A conversation that still fits continues. If the window is only assumed, the server decides. */
  #unchanged(cause: Compaction["cause"]): Stop | undefined {
    if (cause === "asked") {
      const message = "The conversation was not shortened: there is nothing before its last turn."
      this.#setup.host.emit({ type: "warning", code: "compaction_not_possible", message })
      return undefined
    }
    const fits = this.#meter.tokens() + this.#meter.answerRoom <= this.#meter.window
    if (cause === "threshold" && (fits || this.#setup.context.isAssumed)) return undefined
    return this.#stuck("The conversation cannot be made smaller.")
  }

  /** Two compactions in a row that freed next to nothing, or three summaries within a few turns. */
  #isLooping(turn: number): boolean {
    const { window, limit } = this.#meter
    // A larger window is a new beginning.
    const recent = this.#recent.filter((past) => past.window >= Math.round(window))
    const useless = recent.slice(-MAX_USELESS)
    if (useless.length === MAX_USELESS && useless.every(({ after }) => after > 0.9 * limit)) return true
    return recent.filter((past) => past.hasHead && turn - past.turn < CLOSE_TURNS).length >= MAX_CLOSE_HEADS
  }

  #warnOfAssumption(): void {
    const { context, host } = this.#setup
    if (!context.isAssumed || this.#hasWarned) return
    this.#hasWarned = true
    const message = `The context window of the model is not known: ${context.window} tokens are assumed. Set compaction.window.`
    host.emit({ type: "warning", code: "context_window_assumed", message })
  }

  #note(): string {
    return this.#setup.canFetch
      ? 'The result was removed to save room. FetchData with the ref "{callId}" returns it.'
      : "The result was removed to save room. Run the tool again if you need it."
  }

  #stuck(why: string): Stop {
    return stuck(why, this.#history, this.#meter)
  }
}

/** The window according to a refusal, in the wording of known servers. */
function toldBy({ message }: Failure, usage: Usage | undefined): number | undefined {
  const { inputTokens, outputTokens } = usage ?? { inputTokens: null, outputTokens: null }
  // The answer stopped where the window ended. Some servers report nothing for it.
  if (inputTokens !== null && outputTokens !== null && inputTokens > 0)
    return inputTokens + outputTokens + (usage?.cacheReadTokens ?? 0) + (usage?.cacheWriteTokens ?? 0)
  return windowIn(message)
}

/** True for a limit of the server on the size of a body. */
function isAboutBytes({ message, data }: Failure): boolean {
  const status = isJsonObject(data) ? data.status : undefined
  return /payload size/i.test(message) || (status === 413 && !/token|context/i.test(message))
}

const LOOPING = "The conversation fills its context again as soon as it is shortened."
const MAX_OVERFLOWS = 2
const MAX_FIXED_PART = 0.7
/** A summary is expected to have the fortieth part of the window. */
const EXPECTED_SUMMARY = 40
const MAX_USELESS = 2
const MAX_CLOSE_HEADS = 3
const CLOSE_TURNS = 6
