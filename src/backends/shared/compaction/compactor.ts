import type { Stop } from "../../../contract/backend.ts"
import type { Compaction, ContextSetup, CutResults, PastCompaction, TurnMessage } from "../../../contract/compaction.ts"
import type { Failure } from "../../../contract/error.ts"
import type { Conversation } from "../../../contract/provider.ts"
import type { Usage } from "../../../contract/result.ts"
import { recordEntries } from "../../../lib/compaction/brief.ts"
import { compacted } from "../../../lib/compaction/compacted.ts"
import { estimateTokens } from "../../../lib/compaction/estimate.ts"
import type { History } from "../history.ts"
import type { TurnBounds } from "../turn-bounds.ts"
import { summarised, summaryMessage, wordsOf } from "./head.ts"
import type { ContextMeter } from "./meter.ts"
import { type Cut, clippedResults, cutOf, largeLastTurn, partOf, removable } from "./plan.ts"
import { isAboutBytes, windowToldBy } from "./refusal.ts"
import { stuck } from "./stuck.ts"
import { extract, type OwnConversation, type Summarising, type SummaryOrder, summarise } from "./summarise.ts"
import { ownRequestText, summaryRoom } from "./summary-request.ts"

export interface CompactorSetup extends Summarising {
  readonly history: History
  readonly bounds: Pick<TurnBounds, "reset" | "next">
  /** The run's own conversation, if its model can write the summaries at the end of it. */
  readonly conversation?: Conversation | undefined
  readonly context: ContextSetup
  /** True if the model can read a removed result again. */
  readonly canFetch: boolean
}

type Change = Pick<Compaction, "head" | "results" | "isPart" | "usage" | "model" | "durationMs">

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
    const told = windowToldBy(failure, usage)
    if (told === undefined && isAboutBytes(failure)) return
    const tokens = meter.tokens()
    // A router may have changed the server: what the one before accepted says nothing then.
    if (this.#tried.times > 1 || tokens < 0.95 * meter.accepted) meter.accepted = 0
    const refused = 0.95 * (tokens + meter.answerRoom)
    const learned = tokens <= meter.target ? Math.min(told ?? refused, refused) : (told ?? refused)
    meter.window = Math.min(meter.window, Math.max(learned, meter.accepted))
  }

  async #compact(turn: number, cause: Compaction["cause"]): Promise<Stop | undefined> {
    const refusal = cause === "asked" ? undefined : this.#refusal(turn, cause)
    if (refusal) return refusal
    const { host } = this.#setup
    const { refused } = this.#meter
    // What is too long for one summary is summarised in parts, each of which is durable before the next one begins.
    for (let parts = 1; ; parts++) {
      const change = (cause === "asked" ? undefined : this.#pruned()) ?? (await this.#shortened(turn, cause, parts))
      if ("reason" in change) return change
      if (!change.head && !change.results) {
        if (change.usage) host.emit({ type: "metering", usage: change.usage, failed: "reported" })
        return this.#unchanged(cause)
      }
      const recorded = await this.#record(turn, cause, change)
      if (recorded === undefined) return { reason: "interrupted" }
      if (recorded.isPart) this.#meter.refused = refused
      else if (cause === "asked") return undefined
      else return this.#isLooping(turn) ? this.#stuck(LOOPING) : undefined
    }
  }

  /** Undefined: it could not be recorded. */
  async #record(turn: number, cause: Compaction["cause"], change: Change): Promise<Compaction | undefined> {
    const meter = this.#meter
    const { said } = this.#history
    const tokens = { before: Math.round(meter.tokens()), after: Math.round(meter.sizeOf(compacted(said, change))) }
    const window = Math.round(meter.window)
    const recorded = await this.#setup.host.endCompaction({ turn, cause, window, ...change, tokens })
    if (recorded === undefined) return undefined
    this.#history.replace(compacted(said, recorded))
    meter.reset(tokens.after)
    this.#setup.bounds.reset()
    if (cause !== "asked" && !change.isPart) {
      this.#recent = [...this.#recent, { turn, window, after: tokens.after, hasHead: change.head !== undefined }]
    }
    return recorded
  }

  /** Why a compaction would be useless, before any call is made for it. */
  #refusal(turn: number, cause: Compaction["cause"]): Stop | undefined {
    this.#warnOfAssumption()
    const mayFit = cause === "threshold" && this.#setup.context.isAssumed
    if (this.#meter.fixed > MAX_FIXED_PART * this.#meter.limit && !mayFit)
      return this.#stuck("The system prompt and the tools leave too little room for a conversation.")
    return this.#isLooping(turn) ? this.#stuck(LOOPING) : undefined
  }

  /** Removing media and the middle of long arguments needs no model. It must free enough: each compaction costs the cache. */
  #pruned(): Change | undefined {
    const { said } = this.#history
    const results = removable(said, this.#meter, this.#note())
    if (results === null) return undefined
    return this.#meter.sizeOf(compacted(said, { results })) <= this.#meter.target ? { results } : undefined
  }

  async #shortened(turn: number, cause: Compaction["cause"], parts: number): Promise<Change | Stop> {
    const { said } = this.#history
    const meter = this.#meter
    const results = cause === "asked" ? null : largeLastTurn(said, meter, this.#note())
    if (results) return this.#clipped({}, results)
    const whole = cutOf(said, (at) => cause !== "asked" && this.#fits(at))
    const own = this.#ownConversation(cause)
    const part = whole && (own ? { cut: whole, longest: WHOLE_ENTRY } : this.#firstPart(said, whole, parts))
    const change = part ? await this.#summarised(cause, part.cut, { turn, own, longest: part.longest }) : {}
    if ("reason" in change) return change
    if (part?.cut !== whole) return change.head ? { ...change, isPart: true } : change
    const shorter = compacted(said, change)
    // What is clipped was not summarised: only if the summary alone is not enough.
    const enough = cause === "overflow" || !change.head ? meter.target : CLIPPED_ABOVE * meter.limit
    if (meter.sizeOf(shorter) <= enough) return change
    const clipped = clippedResults(shorter, meter, this.#note())
    return clipped === null ? change : this.#clipped(change, clipped)
  }

  /** Replaces everything before a cut by a summary, unless that would be no smaller. */
  async #summarised(cause: Compaction["cause"], cut: Cut, order: Omit<SummaryOrder, "said">): Promise<Change | Stop> {
    const { said } = this.#history
    const meter = this.#meter
    const { at, ...place } = cut
    const started = performance.now()
    const summary = await summarise(this.#setup, { ...order, said: said.slice(0, at) })
    if ("reason" in summary) return summary
    const { answer, text, facts } = summary
    const headOf = (given: string) => {
      const head = { ...place, messages: [...wordsOf(said, at, meter), summaryMessage(given, facts)] }
      return cause === "asked" || meter.sizeOf(compacted(said, { head })) < meter.sizeOf(said) ? head : undefined
    }
    // A summary that is no smaller than what it replaces would be paid for with every request.
    const head = headOf(text) ?? headOf(extract(this.#setup, summarised(said.slice(0, at)), "it was not shorter"))
    return {
      ...(head && { head }),
      durationMs: Math.round(performance.now() - started),
      ...(answer && { usage: answer.usage, model: answer.model }),
    }
  }

  /** Undefined: a request at the end of it would be too long, or nothing of it is in the provider's cache. */
  #ownConversation(cause: Compaction["cause"]): OwnConversation | undefined {
    const { conversation, bounds } = this.#setup
    const meter = this.#meter
    if (conversation === undefined || cause === "overflow" || !meter.isAnswered) return undefined
    const { earlier } = summarised(this.#history.said)
    const request = meter.ratio * estimateTokens(ownRequestText(earlier, true, this.#setup.instructions))
    if (meter.tokens() + request + summaryRoom(this.#setup, earlier).output > meter.window) return undefined
    return { conversation, messages: this.#history.messages, bound: bounds.next }
  }

  /** With results of the last turn that no summary has seen. */
  #clipped(change: Change, results: CutResults): Change {
    const count = Object.keys(results.keep).length + Object.keys(results.messages ?? {}).length
    const message = `The last turn is too long for the window of ${Math.round(this.#meter.window)} tokens: the middle of ${count} of its results is left out.`
    this.#setup.host.emit({ type: "warning", code: "compaction_shortened", message })
    return { ...change, results }
  }

  /**
   * As much as one summary can be written from, and the characters that it is shown of each entry: all, unless that would take more
   * requests than a compaction may make.
   */
  #firstPart(
    said: readonly TurnMessage[],
    whole: Cut,
    parts: number,
  ): Pick<SummaryOrder, "longest"> & { readonly cut: Cut } {
    const meter = this.#meter
    const covered = summarised(said.slice(0, whole.at))
    const room = summaryRoom(this.#setup, covered.earlier).record
    const left = Math.max(1, MAX_PARTS - parts)
    const tokens = meter.tokensIn(said.slice(0, whole.at))
    const cut = partOf(said, whole, meter, Math.max(room, tokens / left))
    if (tokens <= room * left) return { cut, longest: WHOLE_ENTRY }
    const sizeOf = (longest: number) =>
      meter.ratio * recordEntries(covered.messages, longest).reduce((sum, entry) => sum + estimateTokens(entry), 0)
    let longest = MAX_CUT_ENTRY
    while (longest > MIN_ENTRY && sizeOf(longest) > room * left) longest /= 2
    if (parts === 1) {
      const message = `The conversation is so long that its summaries are written from ${longest} characters of each result and each call.`
      this.#setup.host.emit({ type: "warning", code: "compaction_shortened", message })
    }
    return { cut, longest }
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
    const isFull = (part: number) => (past: PastCompaction) => past.after > part * limit
    // A larger window is a new beginning.
    const recent = this.#recent.filter((past) => past.window >= Math.round(window))
    const useless = recent.slice(-MAX_USELESS)
    if (useless.length === MAX_USELESS && useless.every(isFull(0.9))) return true
    // Turns that fill half of the window each are no loop: what was freed was filled with something new.
    const close = recent.filter((past) => past.hasHead && turn - past.turn < CLOSE_TURNS)
    return close.filter(isFull(0.6)).length >= MAX_CLOSE_HEADS || close.length >= CLOSE_TURNS
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

const LOOPING = "The conversation fills its context again as soon as it is shortened."
const MAX_OVERFLOWS = 2
const MAX_FIXED_PART = 0.7
/** A summary is expected to have the fortieth part of the window. */
const EXPECTED_SUMMARY = 40
/** Of the limit: a last turn that is still longer is clipped. */
const CLIPPED_ABOVE = 0.75
/** Requests for summaries in one compaction. */
const MAX_PARTS = 32
/** Characters of an entry of a record. */
const WHOLE_ENTRY = Number.POSITIVE_INFINITY
const MAX_CUT_ENTRY = 32_000
const MIN_ENTRY = 200
const MAX_USELESS = 2
const MAX_CLOSE_HEADS = 3
const CLOSE_TURNS = 6
