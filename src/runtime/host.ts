import type { BackendEvent, Suspended, ToolCall, TurnBound, TurnHost } from "../contract/backend.ts"
import { LonghaulError } from "../contract/error.ts"
import type { Ephemeral, RecordBody, Reserve } from "../contract/event.ts"
import type { Pricing } from "../contract/pricing.ts"
import type { Usage } from "../contract/result.ts"
import type { ToolOutcome } from "../contract/tool.ts"
import { costOf } from "../observe/price.ts"
import { CallRunner } from "./calls/run-call.ts"
import type { ResolvedConfig } from "./config.ts"
import { Entry } from "./entry.ts"
import type { OpenRun } from "./open-run.ts"

/** The host interface of a backend session: records and publishes its events, runs its tool calls, reserves and settles turns. */
export class SessionHost implements TurnHost {
  readonly #run: OpenRun
  readonly #calls: CallRunner
  readonly #entry: Entry
  readonly #pricing: Pricing | null
  /** The reserve of the current turn. */
  #reserve: Reserve | undefined
  /** The number of turns started by this session, and its start time. */
  #turns = 0
  readonly #since = performance.now()

  constructor(config: ResolvedConfig, run: OpenRun, pricing: Pricing | null) {
    this.#run = run
    this.#pricing = pricing
    this.#calls = new CallRunner(config, run)
    this.#entry = new Entry(config, run)
  }

  get deltas(): boolean {
    return this.#run.publisher.hasDeltas
  }

  async beginTurn(turn: number, bound: () => TurnBound): Promise<boolean> {
    const { ledger, hooks, input, journal, controls } = this.#run
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
    try {
      if (hooks.has("preTurn")) {
        journal.flushSoon()
        await hooks.call("preTurn", (hook, run) => hook.preTurn?.({ ...run, turn }))
      }
      const reserve = ledger.limited ? await ledger.reserve(this.#bounded(bound()), controls.signal) : undefined
      this.#reserve = reserve
      journal.append({ type: "turn-start", turn, ...(reserve && { reserve }) })
      // A reserve must be durable before money can be spent: a process that takes over the run has to count it.
      if (reserve) await journal.flush()
      // The results of the previous turn become durable during the model call.
      else if (this.#turns > 0) journal.flushSoon()
      this.#turns++
      return true
    } catch (error) {
      if (LonghaulError.is(error) && error.code === "budget_exceeded") this.#run.limit = error
      else controls.lose(error)
      return false
    }
  }

  async endTurn(turn: number): Promise<boolean> {
    const { journal, hooks } = this.#run
    journal.append({ type: "turn-end", turn })
    if (!hooks.has("postTurn") && !hooks.has("stop")) return true
    // Results become durable while the hooks run.
    journal.flushSoon()
    if (hooks.has("postTurn")) await hooks.call("postTurn", (hook, run) => hook.postTurn?.({ ...run, turn }))
    return (await hooks.call("stop", (hook, run) => hook.stop?.({ ...run, turn }))) !== true
  }

  callTool(call: ToolCall): Promise<ToolOutcome | Suspended> {
    return this.#calls.call(this.#entry.call(call))
  }

  startsEarly(name: string): boolean {
    return this.#calls.startsEarly(name)
  }

  async review(text: string): Promise<string | undefined> {
    const { output, journal, redactor } = this.#run
    const complaint = await output?.review(redactor.text(text))
    const trouble = output?.trouble
    if (trouble) journal.append({ type: "warning", code: trouble.code, message: trouble.message })
    return complaint
  }

  show(event: Ephemeral): void {
    this.#entry.show(event)
  }

  emit<Event extends BackendEvent>(given: Event): Event {
    const event = this.#entry.event(given)
    this.#run.journal.append(this.#recorded(event))
    if (event.type === "tool-call") {
      this.#calls.announce(event.callId)
    } else if (event.type === "retry" || event.type === "steer") {
      // Both events discard the answer that made the early calls.
      this.#calls.dropEarly()
    }
    return event
  }

  /** A slice has at least one turn, so that a run progresses however short its slices are. */
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
    const { pendingSteers } = this.#run
    if (event.type !== "steer" || event.reason !== undefined || pendingSteers[0]?.text !== event.text) return event
    return { ...event, inbox: (pendingSteers.shift() as (typeof pendingSteers)[number]).inbox }
  }

  /** Refunds the reserve of a turn that was never answered. */
  close(): void {
    if (this.#reserve) this.#run.ledger.refund(this.#reserve)
    this.#reserve = undefined
  }

  #bounded({ inputTokens, outputTokens }: TurnBound): Reserve {
    const tokens = inputTokens + outputTokens
    if (this.#pricing === null) return { tokens, usd: null }
    // Cache writes may cost more than input, so the bound is the most expensive way to count the tokens.
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
}

const nothing: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
