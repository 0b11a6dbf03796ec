import type { BackendEvent, Suspended, ToolCall, TurnBound, TurnHost } from "../contract/backend.ts"
import { LonghaulError } from "../contract/error.ts"
import type { RecordBody, Reserve } from "../contract/event.ts"
import type { Pricing } from "../contract/pricing.ts"
import type { Usage } from "../contract/result.ts"
import type { ToolOutcome } from "../contract/tool.ts"
import { costOf } from "../observe/price.ts"
import { CallRunner } from "./calls/run-call.ts"
import type { ResolvedConfig } from "./config.ts"
import type { OpenRun } from "./open-run.ts"

/** What a backend's session gets back into the runtime: number, append and publish events; reserve and settle turns. */
export class SessionHost implements TurnHost {
  readonly show: TurnHost["show"]
  readonly #run: OpenRun
  readonly #calls: CallRunner
  readonly #pricing: Pricing | null
  /** Of the turn under way. */
  #reserve: Reserve | undefined
  /** The turn under way called a tool. */
  #called = false
  /** Turns that were begun here, and since when. */
  #turns = 0
  readonly #since = performance.now()

  constructor(config: ResolvedConfig, run: OpenRun, pricing: Pricing | null) {
    this.#run = run
    this.#pricing = pricing
    this.#calls = new CallRunner(config, run)
    this.show = run.show
  }

  get deltas(): boolean {
    return this.#run.publisher.hasDeltas
  }

  beginTurn(turn: number, bound: () => TurnBound): boolean | Promise<boolean> {
    const { ledger, hooks, input } = this.#run
    if (turn > input.limits.turns) {
      this.#run.limit = new LonghaulError("max_turns", `Maximum turns reached: ${input.limits.turns}.`, {
        fix: "Raise limits.turns.",
      })
      return false
    }
    if (this.#isReleased()) {
      this.#run.released = true
      return false
    }
    this.#turns++
    if (hooks.has("preTurn")) return this.#hookedTurn(turn, bound)
    if (ledger.limited) return this.#reservedTurn(turn, bound)
    this.#run.journal.append({ type: "turn-start", turn })
    return true
  }

  endTurn(turn: number): boolean | Promise<boolean> {
    const { journal, hooks } = this.#run
    journal.append({ type: "turn-end", turn })
    if (this.#called) {
      // A turn that called nothing is the last one: its end goes with the end of the run, which follows at once.
      this.#called = false
      journal.flushSoon()
    }
    return hooks.has("postTurn") || hooks.has("stop") ? this.#afterTurn(turn) : true
  }

  callTool(call: ToolCall): Promise<ToolOutcome | Suspended> {
    return this.#calls.call(call)
  }

  startsEarly(name: string): boolean {
    return this.#calls.startsEarly(name)
  }

  async review(text: string): Promise<string | undefined> {
    const { output, journal } = this.#run
    const complaint = await output?.review(text)
    const trouble = output?.trouble
    if (trouble) journal.append({ type: "warning", code: trouble.code, message: trouble.message })
    return complaint
  }

  emit(event: BackendEvent): void {
    this.#run.journal.append(this.#recorded(event))
    if (event.type === "tool-call") {
      this.#called = true
      this.#calls.announce(event.callId)
    } else if (event.type === "retry" || event.type === "steer") {
      // Either way the answer that early calls came from counts no more.
      this.#calls.dropEarly()
    }
  }

  /** A slice has at least one turn: a run must get on however short its slices are. */
  #isReleased(): boolean {
    const { controls, input } = this.#run
    const { slice } = input
    if (controls.releasing) return true
    if (slice === undefined || this.#turns === 0) return false
    const { turns = Number.POSITIVE_INFINITY, timeMs = Number.POSITIVE_INFINITY } = slice
    return this.#turns >= turns || performance.now() - this.#since >= timeMs
  }

  #recorded(event: BackendEvent): RecordBody {
    if (event.type === "usage") return this.#settled(event)
    const { said } = this.#run
    if (event.type !== "steer" || event.reason !== undefined || said[0]?.text !== event.text) return event
    return { ...event, inbox: (said.shift() as (typeof said)[number]).inbox }
  }

  /** What is set aside for a turn that was never answered comes back. */
  close(): void {
    if (this.#reserve) this.#run.ledger.refund(this.#reserve)
    this.#reserve = undefined
  }

  async #hookedTurn(turn: number, bound: () => TurnBound): Promise<boolean> {
    const { ledger, hooks, journal } = this.#run
    await hooks.call("preTurn", (hook, run) => hook.preTurn?.({ ...run, turn }))
    if (ledger.limited) return this.#reservedTurn(turn, bound)
    journal.append({ type: "turn-start", turn })
    return true
  }

  /** Nothing is waited for before the turn is on record: so it goes into the flush that the end of the last one began. */
  async #reservedTurn(turn: number, bound: () => TurnBound): Promise<boolean> {
    const { ledger, journal, controls } = this.#run
    try {
      const reserving = ledger.reserve(this.#bounded(bound()), controls.signal)
      const reserve = "then" in reserving ? await reserving : reserving
      this.#reserve = reserve
      journal.append({ type: "turn-start", turn, reserve })
      // Durable before the money can be spent: whoever takes the run over must know of it.
      await journal.flush()
      return true
    } catch (error) {
      if (LonghaulError.is(error) && error.code === "budget_exceeded") this.#run.limit = error
      else controls.lose(error)
      return false
    }
  }

  #bounded({ inputTokens, outputTokens }: TurnBound): Reserve {
    const tokens = inputTokens + outputTokens
    if (this.#pricing === null) return { tokens, usd: null }
    // Writing to a cache may cost more than input does: the dearest way to be counted is the bound.
    const atMost = (usage: Partial<Usage>) =>
      costOf({ ...nothing, ...usage, outputTokens }, this.#pricing as Pricing) ?? 0
    return { tokens, usd: Math.max(atMost({ inputTokens }), atMost({ cacheWriteTokens: inputTokens })) }
  }

  #settled(event: BackendEvent & { readonly type: "usage" }): RecordBody {
    const costUsd = event.usage.costUsd ?? (this.#pricing && costOf(event.usage, this.#pricing))
    const usage = { ...event.usage, costUsd }
    if (this.#reserve) this.#run.ledger.settle(this.#reserve, usage)
    this.#reserve = undefined
    return { ...event, usage }
  }

  async #afterTurn(turn: number): Promise<boolean> {
    const { hooks } = this.#run
    if (hooks.has("postTurn")) await hooks.call("postTurn", (hook, run) => hook.postTurn?.({ ...run, turn }))
    if (!hooks.has("stop")) return true
    return (await hooks.call("stop", (hook, run) => hook.stop?.({ ...run, turn }))) !== true
  }
}

const nothing: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
