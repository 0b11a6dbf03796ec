import type {
  BackendEvent,
  CompactionFacts,
  Permit,
  Stop,
  Suspended,
  ToolCall,
  TurnBound,
  TurnHost,
} from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { Compaction } from "../../contract/compaction.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Ephemeral, RecordBody, Reserve } from "../../contract/event.ts"
import type { Pricing } from "../../contract/pricing.ts"
import type { Usage } from "../../contract/result.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { orAborted } from "../../lib/abort.ts"
import { canonicalJson } from "../../lib/json.ts"
import { unknownUsage } from "../../lib/usage.ts"
import { costOf } from "../../observe/price.ts"
import { boundOf } from "../../settings/config/pricing.ts"
import { denied } from "../calls/outcomes.ts"
import { OwnCalls } from "../calls/own-calls.ts"
import { CallRunner } from "../calls/run-call.ts"
import { UngatedCalls } from "../calls/ungated-calls.ts"
import type { OpenRun } from "../state/open-run.ts"
import { EventRedactor } from "../state/redact-events.ts"
import type { Suspension } from "../state/stops.ts"
import type { Watch } from "./watch.ts"

/** The prices of the run's model, and of the model that writes summaries. Null: unknown. */
export interface Prices {
  readonly model: Pricing | null
  readonly summaries: Pricing | null
}

/** The host interface of a backend session: records and publishes its events, runs its tool calls, reserves and settles turns. */
export class SessionHost implements TurnHost {
  readonly #run: OpenRun
  readonly #calls: CallRunner
  readonly #own: OwnCalls
  readonly #ungated: UngatedCalls
  readonly #watch: Watch
  /** Calls of the runtime's tools that a program made, by id, until their outcome is durable. */
  readonly #called = new Map<string, MadeCall>()
  readonly #latencies: Map<string, number>
  /** When the model was asked; undefined once it has answered. */
  #askedAt: number | undefined
  readonly #redactor: EventRedactor
  readonly #prices: Prices
  /** True from the start of a turn to its answer. */
  #isUnanswered = false
  /** The reserve of the current turn or compaction. */
  #reserve: Reserve | undefined
  /** The prices of that turn or compaction. */
  #pricing: Pricing | null = null
  /** The number of turns started by this session, and its start time. */
  #turns = 0
  #turn: number | undefined
  readonly #since = performance.now()

  constructor(run: OpenRun, prices: Prices, watch: Watch) {
    this.#run = run
    this.#prices = prices
    this.#watch = watch
    this.#latencies = run.config.latencies
    this.#calls = new CallRunner(run)
    this.#own = new OwnCalls(run, this.#calls)
    this.#ungated = new UngatedCalls(run, () => watch.stop({ reason: "interrupted" }))
    this.#redactor = new EventRedactor(run)
    // Recorded by an earlier session, which the backend continues: it presents also those that are settled by now.
    for (const callId of run.openBefore) {
      this.#calls.announce(callId)
      const call = run.projection.calls.get(callId)
      if (call) this.#ungated.announced(call)
    }
  }

  get deltas(): boolean {
    return this.#run.publisher.hasDeltas
  }

  /** Why the run has to pause, if a call is suspended. */
  get suspension(): Suspension | undefined {
    return this.#calls.suspension
  }

  async beginTurn(turn: number, bound: () => TurnBound): Promise<Stop | undefined> {
    const { ledger, hooks, journal } = this.#run
    // After a refused request, the same turn begins again.
    const isAgain = turn === this.#turn && this.#isUnanswered
    const outOfTurns = isAgain ? undefined : ledger.startTurn(turn)
    if (outOfTurns) return limitStop(outOfTurns)
    this.#isUnanswered = true
    if (!isAgain && this.#isReleased()) return { reason: "released" }
    try {
      if (hooks.has("preTurn") && !isAgain) {
        journal.flushSoon()
        await hooks.call("preTurn", (hook, run) => hook.preTurn?.({ ...run, turn }))
      }
      const reserve = await this.#reserved(bound, this.#prices.model)
      journal.append({ type: "turn-start", turn, ...(reserve && { reserve }) })
      // A reserve must be durable before money can be spent: a process that takes over the run has to count it.
      if (reserve) await journal.flush()
      // The results of the previous turn become durable during the model call.
      else if (this.#turns > 0) journal.flushSoon()
      if (!isAgain) this.#turns++
      this.#turn = turn
      this.#askedAt = performance.now()
      return undefined
    } catch (error) {
      return this.#stopFor(error)
    }
  }

  async beginCompaction(turn: number, bound: () => TurnBound): Promise<CompactionFacts | Stop> {
    const { journal } = this.#run
    try {
      const reserve = await this.#reserved(bound, this.#prices.summaries)
      journal.append({ type: "compaction-start", turn, ...(reserve && { reserve }) })
      await journal.flush()
      const { compactionFacts } = await import("./compaction-facts.ts")
      return { text: await compactionFacts(this.#run) }
    } catch (error) {
      return this.#stopFor(error)
    }
  }

  async endCompaction(given: Compaction): Promise<Compaction | undefined> {
    const { journal, hooks, ledger, redactor } = this.#run
    const usage = given.usage && this.#priced(given.usage, this.#prices.summaries)
    const compaction = { ...redactor.again(given), ...(usage && { usage }) }
    if (this.#reserve && usage) ledger.settle(this.#reserve, usage)
    this.#refund()
    try {
      journal.append({ type: "compaction", ...compaction })
      await journal.flush()
    } catch (error) {
      this.#stopFor(error)
      return undefined
    }
    if (hooks.has("compaction")) {
      await hooks.call("compaction", (hook, run) => hook.compaction?.({ ...run, compaction }))
    }
    return compaction
  }

  async endTurn(turn: number): Promise<Stop | undefined> {
    const { journal, hooks } = this.#run
    await this.#own.settled()
    journal.append({ type: "turn-end", turn })
    if (!hooks.has("postTurn") && !hooks.has("stop")) return undefined
    // Results become durable while the hooks run.
    journal.flushSoon()
    if (hooks.has("postTurn")) await hooks.call("postTurn", (hook, run) => hook.postTurn?.({ ...run, turn }))
    const isEnded = await hooks.call("stop", (hook, run) => hook.stop?.({ ...run, turn }))
    return isEnded === true ? { reason: "ended" } : undefined
  }

  callTool(call: ToolCall): Promise<ToolOutcome | Suspended> {
    const { calls } = this.#run.projection
    const settled = calls.get(call.callId)?.outcome
    if (settled) return Promise.resolve(settled)
    if (this.#run.target.backend.capabilities.edge) return this.#calls.call(this.#redactor.call(call))
    const known = this.#called.get(call.callId)
    // One id, one call: the record of what ran has the id.
    if (known) return isSameCall(known.call, call) ? known.outcome : Promise.resolve(denied(call, ID_USED))
    const outcome = this.#calls.call(this.#redactor.call(call))
    for (const callId of this.#called.keys()) if (calls.get(callId)?.outcome) this.#called.delete(callId)
    this.#called.set(call.callId, { call, outcome })
    return this.#watch.during(outcome).finally(() => this.#beforeRequest())
  }

  async authorize(call: ToolCall, tool: OwnTool): Promise<Permit> {
    const permit = await this.#watch.during(this.#own.authorize(this.#redactor.call(call), tool))
    this.#ungated.answered(call, permit)
    await this.#beforeRequest()
    return permit
  }

  alive(): void {
    this.#watch.alive()
  }

  startsEarly(name: string): boolean {
    return this.#calls.startsEarly(name)
  }

  async review(text: string): Promise<string | undefined> {
    const { output, journal, redactor, agents, controls } = this.#run
    // The run does not end while an agent works in the background: its answer continues the conversation.
    if (agents?.background.isPending) await this.#watch.during(agents.background.wait())
    let validationError: string | undefined
    if (output) {
      const whole = await this.#wholeAnswer(redactor.text(text))
      // The caller's check may never settle: it ends with the run.
      validationError = await orAborted(output.review(whole), controls.signal)
      const { validationError: last } = output
      if (last) journal.append({ type: "warning", code: last.code, message: last.message })
    }
    if (validationError !== undefined || controls.steers.hasUnread) await this.#beforeRequest()
    return validationError
  }

  /** An answer that was cut at the output limit, with its continuation. */
  async #wholeAnswer(text: string): Promise<string> {
    const { journal, projection } = this.#run
    try {
      // The fold has durable records only.
      await journal.flush()
    } catch (error) {
      this.#stopFor(error)
    }
    return projection.isContinued ? projection.text : text
  }

  show(event: Ephemeral): void {
    if (this.#askedAt !== undefined) this.#measure(this.#askedAt)
    this.#redactor.show(event)
  }

  emit<Event extends BackendEvent>(given: Event): Event {
    if (this.#askedAt !== undefined) this.#measure(this.#askedAt)
    const event = this.#redactor.event(given)
    if (event.type === "tool-result") {
      const ungated = this.#ungated.take(event)
      this.#own.finish(ungated ? { ...event, ungated } : event)
      return event
    }
    // A resumed session presents its open calls again.
    if (event.type === "tool-call" && this.#calls.isAnnounced(event.callId)) return event
    this.#run.journal.append(this.#recorded(event))
    // A process that takes over the run has to count it, and its request may be under way.
    if (event.type === "metering" && this.#run.ledger.limited) this.#run.journal.flushSoon()
    if (event.type === "tool-call") {
      this.#calls.announce(event.callId)
      this.#ungated.announced(event)
    } else if (event.type === "retry" || event.type === "steer") {
      // Both events discard the answer that made the early calls.
      this.#calls.dropEarly()
    }
    return event
  }

  /** Keeps a moving average of the time to the first sign of an answer. */
  #measure(askedAt: number): void {
    this.#askedAt = undefined
    const { name } = this.#run.target.backend
    const known = this.#latencies.get(name)
    const latencyMs = performance.now() - askedAt
    this.#latencies.set(name, known === undefined ? latencyMs : known * 0.8 + latencyMs * 0.2)
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
    if (event.type === "metering") return this.#metered(event)
    return event.type === "steer" && "id" in event ? this.#run.controls.steers.delivered(event) : event
  }

  /** Present once no request may start that has no reserve, because the run and its agents have used up the budget. */
  get usedUp(): Stop | undefined {
    const { ledger, target } = this.#run
    if (target.backend.capabilities.edge) return undefined
    return ledger.exhausted && limitStop(ledger.exhausted)
  }

  /** Why the run has to fail, whatever the session says: its backend ran what the policy does not allow. */
  violation(): Promise<LonghaulError | undefined> {
    return this.#ungated.violation()
  }

  /** Resolves when no tool of the session is running. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#called.values()].map(({ outcome }) => outcome))
    await this.#own.settled()
  }

  /** Reserves the maximum cost of a call, if anything is limited. A reserve of the same turn is given back before. */
  async #reserved(bound: () => TurnBound, pricing: Pricing | null): Promise<Reserve | undefined> {
    const { ledger, controls } = this.#run
    this.#refund()
    this.#pricing = pricing
    this.#reserve = ledger.limited ? await ledger.reserve(boundOf(bound(), pricing), controls.signal) : undefined
    return this.#reserve
  }

  #stopFor(error: unknown): Stop {
    if (LonghaulError.is(error) && error.code === "budget_exceeded") return limitStop(error)
    this.#run.controls.lose(error)
    return { reason: "interrupted" }
  }

  /** Gives back a turn that was never answered, and its reserve. */
  close(): void {
    if (this.#isUnanswered) this.#run.ledger.dropTurn()
    this.#isUnanswered = false
    this.#refund()
  }

  #refund(): void {
    if (this.#reserve) this.#run.ledger.refund(this.#reserve)
    this.#reserve = undefined
  }

  /** Usage of a call that was under way: it can exceed a limit, and then nothing more may start. */
  #metered(event: BackendEvent & { readonly type: "metering" }): RecordBody {
    if (event.failed) return this.#failed(event, event.failed)
    const usage = this.#priced(event.usage, this.#prices.model)
    this.#stopAt(this.#run.ledger.spend(usage))
    return { ...event, usage }
  }

  /** Before a program may ask its model again: what it has used is durable, and it stops if other agents have used up the rest. */
  async #beforeRequest(): Promise<void> {
    const { ledger, journal, target } = this.#run
    if (target.backend.capabilities.edge || !ledger.limited) return
    await journal.flush().catch((error: unknown) => this.#stopFor(error))
    this.#stopAt(ledger.exhausted)
  }

  #stopAt(exceeded: LonghaulError | undefined): void {
    if (exceeded) this.#watch.stop(limitStop(exceeded))
  }

  /** A request whose answer failed is settled like an answer: the next attempt reserves again. */
  #failed(event: BackendEvent & { readonly type: "metering" }, failed: "reported" | "unreported"): RecordBody {
    const reserve = this.#reserve
    const usage = this.#priced(event.usage, this.#pricing)
    if (reserve) this.#run.ledger.settle(reserve, failed === "reported" ? usage : unknownUsage)
    this.#reserve = undefined
    return { ...event, usage, ...(failed === "unreported" && reserve && { reserve }) }
  }

  #priced(usage: Usage, pricing: Pricing | null): Usage {
    return { ...usage, costUsd: usage.costUsd ?? (pricing && costOf(usage, pricing)) }
  }

  #settled(event: BackendEvent & { readonly type: "usage" }): RecordBody {
    const usage = this.#priced(event.usage, this.#prices.model)
    this.#isUnanswered = false
    if (this.#reserve) this.#run.ledger.settle(this.#reserve, usage)
    this.#reserve = undefined
    return { ...event, usage }
  }
}

interface MadeCall {
  readonly call: ToolCall
  readonly outcome: Promise<ToolOutcome | Suspended>
}

function isSameCall(one: ToolCall, other: ToolCall): boolean {
  return one.name === other.name && canonicalJson(one.args) === canonicalJson(other.args)
}

const ID_USED = "another call has its id"

/** The run has reached a limit of its own. */
export function limitStop(limit: LonghaulError): Stop {
  return { reason: "limit", failure: limit.toJSON() }
}
