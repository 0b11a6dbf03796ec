import type { Suspended, ToolCall } from "../../contract/backend.ts"
import type { Environment } from "../../contract/env.ts"
import type { Json } from "../../contract/json.ts"
import type { Ruled } from "../../contract/policy.ts"
import { type Answered, type Effect, type ToolContext, ToolError, type ToolOutcome } from "../../contract/tool.ts"
import { dropOldest } from "../../journal/recent-calls.ts"
import { orAborted } from "../../lib/abort.ts"
import { plainText } from "../../lib/content.ts"
import { jsonCopy } from "../../lib/json.ts"
import { callKey, runScope } from "../../lib/tenant/run-keys.ts"
import type { OffloadResult } from "../../tools/kernel/dispatch.ts"
import { effectOf, hasEffectPerCall } from "../../tools/kernel/effect-of.ts"
import { actingTool } from "../../tools/kernel/inner-of.ts"
import { Offload } from "../offload/offload.ts"
import type { SpawnEnd, SpawnOptions } from "../state/agents.ts"
import type { OpenRun } from "../state/open-run.ts"
import { realArgs } from "../state/redact-events.ts"
import { moreUrgent, type Suspension } from "../state/stops.ts"
import { approvalRequest, type Waited, waitForApproval } from "./ask.ts"
import { callProgress } from "./call-progress.ts"
import { CallQuestion } from "./call-question.ts"
import { OutputScan, scansOutput } from "./check-output.ts"
import { type AskedCallRunner, askForCall } from "./continue-asked.ts"
import {
  allowsAtOnce,
  answerOf,
  type DecideAgain,
  decide,
  environmentFor,
  hookedCall,
  type Question,
  refusedNow,
  shownCall,
} from "./decide.ts"
import { denied, notOnRecord, notStarted, unknown, withoutSecret } from "./outcomes.ts"
import { Overflow } from "./overflow.ts"
import { ReadWriteLock } from "./read-write-lock.ts"
import { digestOf } from "./same-call.ts"

export interface ExecuteOptions {
  /** The call's intent is already recorded. */
  readonly begun: boolean
  /** Text for the model in front of the result. */
  readonly note?: string
  /** An earlier process began it: its tool resumes it. */
  readonly resumed?: boolean
  /** It continues after its question. */
  readonly answered?: Answered
  /** The rules' verdict when it was decided. Absent: no rule applies to such calls. */
  readonly ruled?: Ruled | undefined
}

/** Runs the calls of one session: intent, effect, result, each recorded exactly once. */
export class CallRunner implements AskedCallRunner {
  readonly #run: OpenRun
  readonly #overflow: Overflow
  readonly #offload: Offload
  readonly #lock = new ReadWriteLock()
  /** Decisions are made one after another, in the order of the calls. */
  #deciding: ReadWriteLock | undefined
  #open = 0
  /** The newest ones: a call that is no longer among them is refused if a backend presents it again. */
  readonly #announced = new Set<string>()
  /** Agents that calls started, by their call; undefined: none was started. */
  readonly #agents = new Map<string, Promise<SpawnEnd | undefined>>()
  #suspension: Suspension | undefined
  /** Early calls whose result waits until their `tool-call` is recorded; `false`: it never will be. */
  #early: Map<string, (onRecord: boolean) => void> | undefined

  constructor(run: OpenRun) {
    this.#run = run
    this.#overflow = new Overflow(run.config, run.key, run.redactor)
    this.#offload = new Offload(run, this.#overflow.env)
  }

  call(call: ToolCall): Promise<ToolOutcome | Suspended> {
    if (this.#announced.has(call.callId)) {
      return allowsAtOnce(this.#run, call.name) ? this.execute(call) : this.#decideAndExecute(call)
    }
    return this.#mayStartEarly(call.name) ? this.#executeEarly(call) : Promise.resolve(notOnRecord(call))
  }

  startsEarly(name: string): boolean {
    return this.#mayStartEarly(name) && !this.#run.controls.stopping
  }

  /** Allows the result of a call to be recorded, because its `tool-call` is now recorded. */
  announce(callId: string): void {
    this.#announced.add(callId)
    dropOldest(this.#announced)
    this.#early?.get(callId)?.(true)
    this.#early?.delete(callId)
  }

  isAnnounced(callId: string): boolean {
    return this.#announced.has(callId)
  }

  /** Discards the early calls of an answer that failed. */
  dropEarly(): void {
    for (const resolve of this.#early?.values() ?? []) resolve(false)
    this.#early = undefined
  }

  /** The effect of a call with its real arguments; the strictest one of its tool if this process does not have them. */
  effectOf(call: ToolCall): Effect {
    const tool = this.#run.input.dispatcher.tool(call.name)
    if (tool === undefined || !hasEffectPerCall(tool)) return tool?.effect ?? "none"
    const args = realArgs(this.#run, call)
    return args === undefined ? tool.effect : effectOf(tool, args)
  }

  /** Why the run has to pause, if a call is suspended. */
  get suspension(): Suspension | undefined {
    return this.#suspension
  }

  /** True if the run pauses for a question: no other one is asked then. */
  get isAsked(): boolean {
    return this.#suspension?.kind === "asked"
  }

  /** Records the question about a call for which the run has to pause. */
  suspend(call: ToolCall, question: Omit<Question, "kind" | "via">): Suspended {
    return this.#suspendFor({ kind: "asked", request: approvalRequest(this.#run, call, question) })
  }

  #suspendFor(suspension: Suspension): Suspended {
    // An agent that asks another question waits with the first one.
    if (suspension.kind === "asked" && !this.isAsked) this.#run.journal.append(suspension.request)
    this.#suspension = moreUrgent(this.#suspension, suspension)
    return suspended
  }

  /** Runs a call that was allowed or needs no decision. */
  async execute(call: ToolCall, options: ExecuteOptions = notBegun): Promise<ToolOutcome | Suspended> {
    const ended = await this.#attempt(call, options)
    return ended instanceof CallQuestion ? this.#waitForAnswer(call, ended, options) : ended
  }

  /** A question: the attempt has ended with it, and no other call waits for the person. */
  async #attempt(call: ToolCall, options: ExecuteOptions): Promise<ToolOutcome | Suspended | CallQuestion> {
    const { begun, note } = options
    const { journal, controls, hooks, input } = this.#run
    const tool = input.dispatcher.tool(call.name)
    const effect = this.effectOf(call)
    // Appended in the same tick as the other calls of the step, so that all intents share one flush.
    this.#open++
    if (effect !== "none" && !begun) journal.append(intentOf(this.#run, call, effect))
    const acting = tool && actingTool(tool, call.args)
    await this.#lock.enter(!acting || acting.concurrent || (acting.effectOf !== undefined && effect === "none"))
    try {
      if (effect !== "none") await journal.flush()
      if (controls.stopping) return this.record(call, notStarted(call), 0, effect)
      const refused = await refusedNow(this.#run, call, options.ruled)
      // An earlier process may have run it.
      const ended = refused === undefined ? undefined : options.resumed ? unknown(call) : denied(call, refused)
      if (ended) return this.record(call, ended, 0, effect)
      if (hooks.has("preToolCall")) {
        await hooks.call("preToolCall", (hook, at) => hook.preToolCall?.(hookedCall(at, shownCall(this.#run, call))))
      }
      const started = performance.now()
      const question = new CallQuestion(this.#run, call, options.answered)
      const dispatched = await this.#dispatch(call, question, options)
      if (question.isAsked) return question
      const agent = await this.#agents.get(call.callId)
      // The call stays open with its agent, which continues when the run is resumed.
      if (agent && agent.kind !== "ended") return agent.kind === "lost" ? notStarted(call) : this.#suspendFor(agent)
      const outcome = withNote(dispatched, note)
      // A tool that was aborted may have had its effect already.
      const inDoubt = effect !== "none" && controls.signal.aborted && outcome.status === "error" && !agent
      const recorded = this.record(call, inDoubt ? unknown(call) : outcome, performance.now() - started, effect)
      if (hooks.has("postToolCall")) {
        await hooks.call("postToolCall", (hook, at) =>
          hook.postToolCall?.(hookedCall(at, shownCall(this.#run, call)), recorded),
        )
      }
      return recorded
    } catch (error) {
      // The intent is not durable, or another process owns the run: this process must start nothing more.
      controls.lose(error)
      return notStarted(call)
    } finally {
      this.#open--
      this.#lock.leave()
    }
  }

  /** Records the outcome of a call. */
  record(call: ToolCall, outcome: ToolOutcome, durationMs = 0, effect: Effect = "none"): ToolOutcome {
    const { journal } = this.#run
    const { callId } = call
    const failed = this.#offload.warningOf(call)
    if (failed) journal.append(failed)
    const cut = this.#overflow.warningOf(call)
    if (cut) journal.append(cut)
    const stored = outcome.status === "ok" ? (this.#offload.storedOf(call) ?? this.#overflow.storedOf(call)) : undefined
    journal.append({
      type: "tool-result",
      callId,
      outcome,
      durationMs: Math.round(durationMs),
      ...(stored && { stored }),
    })
    // The last result of a step is flushed with the end of the turn, which follows immediately. Others must not wait for it.
    if (effect !== "none" && this.#open > 1) journal.flushSoon()
    return outcome
  }

  /** The call stays open with its question. One that is not asked now is asked when the run is resumed. */
  #waitForAnswer(call: ToolCall, question: CallQuestion, { ruled }: ExecuteOptions): Promise<ToolOutcome | Suspended> {
    const asked = { args: call.args, question: question.record(), ruled }
    return askForCall(this.#run, this, call, asked)
  }

  async #decideAndExecute(announced: ToolCall): Promise<ToolOutcome | Suspended> {
    // Listeners have received the announced one: a change of theirs must not run.
    const call = { ...announced, args: jsonCopy(announced.args) }
    const inside: { rejected?: ToolOutcome | undefined } = {}
    const verdict = await this.decided(call, async (each, options) => {
      inside.rejected = await this.#rejectedInside(each)
      if (inside.rejected) return { kind: "allow", args: each.args }
      return decide(this.#run, each, options)
    })
    if (verdict === undefined) return notStarted(call)
    if (inside.rejected) return this.record(call, inside.rejected)
    if (verdict.kind === "suspended") return suspended
    if (verdict.kind === "deny") return this.record(call, denied(call, verdict.reason))
    if (verdict.kind === "answer") return this.record(call, answerOf(this.#run, call, verdict.text))
    const { ruled } = verdict
    if (verdict.args === call.args) return this.execute(call, { begun: false, ruled })
    const args = jsonCopy(verdict.args)
    return this.execute({ ...call, args }, { ...changedBy("the policy or a reviewer", args), ruled })
  }

  /** No person is asked about a call through another tool that the inner tool would reject. */
  async #rejectedInside(call: ToolCall): Promise<ToolOutcome | undefined> {
    const { dispatcher } = this.#run.input
    if (call.invalid !== undefined || dispatcher.tool(call.name)?.inner === undefined) return undefined
    const args = realArgs(this.#run, call)
    if (args === undefined) return undefined
    // A check of the tool's author may never settle: it ends with the run.
    const rejection = dispatcher.rejection({ name: call.name, args }, this.#run.redactor.text)
    return orAborted(rejection, this.#run.controls.signal)
  }

  /** Decides about a call, asking a person if need be. Undefined: the run can no longer be recorded. */
  async decided(call: ToolCall, decideCall: DecideAgain): Promise<Decided | undefined> {
    const run = this.#run
    return this.oneAtATime<Decided>(async () => {
      if (this.isAsked) return { kind: "suspended" }
      // A run that is being stopped starts no call, so nothing is left to decide.
      if (run.controls.stopping) return { kind: "allow", args: call.args }
      let verdict: Waited = await decideCall(call, {})
      // A run that is being released does not wait for a person.
      if (verdict.kind === "ask" && verdict.via === "wait" && !run.controls.releasing) {
        verdict = await waitForApproval(run, call, verdict, decideCall)
      }
      if (verdict.kind !== "ask") return verdict
      if (run.tree.deniesQuestions && !run.controls.stopping)
        return { kind: "deny", reason: `an agent cannot ask a person: ${verdict.question}` }
      this.suspend(call, verdict)
      return { kind: "suspended" }
    })
  }

  async oneAtATime<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
    this.#deciding ??= new ReadWriteLock()
    await this.#deciding.enter(false)
    try {
      return await work()
    } catch (error) {
      this.#run.controls.lose(error)
      return undefined
    } finally {
      this.#deciding.leave()
    }
  }

  async #executeEarly(call: ToolCall): Promise<ToolOutcome | Suspended> {
    const started = performance.now()
    const onRecord = new Promise<boolean>((resolve) => {
      this.#early ??= new Map()
      this.#early.set(call.callId, resolve)
    })
    const question = new CallQuestion(this.#run, call, undefined)
    const outcome = await this.#dispatch(call, question, notBegun)
    const durationMs = performance.now() - started
    if (!(await onRecord)) return outcome
    return question.isAsked ? this.#waitForAnswer(call, question, notBegun) : this.record(call, outcome, durationMs)
  }

  /** Only here a call has the values of its secrets. */
  async #dispatch(call: ToolCall, question: CallQuestion, options: ExecuteOptions): Promise<ToolOutcome> {
    const { redactor, input } = this.#run
    const { resumed = false, ruled } = options
    const args = realArgs(this.#run, call)
    if (args === undefined) return withoutSecret(call)
    const started = performance.now()
    const env = await environmentFor(this.#run, { ...call, args }, this.#overflow.env, ruled)
    const keep = this.#overflow.keeperOf(call, this.#offload.isOffered)
    const progress = callProgress(this.#run, call.callId)
    const own = this.#offload.context(contextOf(env, this.#run, call, progress.tell), call)
    const context = { ...own, ...this.#agentPowers(call, { resumed, keep }), ...question.context }
    const dispatch = async (to: ToolContext, save: typeof keep, offload: OffloadResult | undefined) => {
      const outcome = await input.dispatcher.dispatch({ ...call, args, resumed }, to, save, redactor.text, offload)
      progress.end()
      const agent = await this.#agents.get(call.callId)
      // A failed agent, or one that was stopped with its run, reports more than its tool could.
      return agent?.kind === "ended" && outcome.status !== "ok" ? agent.outcome : outcome
    }
    if (!scansOutput(this.#run, call)) return dispatch(context, keep, this.#offload.of(call))
    const check = new OutputScan(this.#run, call, args, keep)
    const quiet = { ...context, progress: () => {} }
    const outcome = await dispatch(quiet, check.keep, this.#offload.of(call, check.passes))
    // The outcome of a call that has asked is not passed on.
    return question.isAsked ? outcome : check.release(outcome, performance.now() - started)
  }

  #agentPowers(call: ToolCall, options: SpawnOptions): Pick<ToolContext, "spawn" | "send"> {
    const { agents } = this.#run
    if (agents === undefined) return {}
    return {
      spawn: async (request) => {
        // Without a durable intent the agent would not be found again.
        if (this.effectOf(call) === "none")
          throw new ToolError("denied", "A tool without an effect cannot start an agent.")
        if (this.#agents.has(call.callId)) throw new ToolError("conflict", "This call has started its agent already.")
        const spawning = agents.spawn(call, request, options)
        this.#agents.set(
          call.callId,
          spawning.catch(() => undefined),
        )
        const end = await spawning
        if (end.kind === "ended" && end.outcome.status === "ok") return plainText(end.outcome.output, "\n")
        throw new ToolError("aborted", "The agent did not finish its task.")
      },
      send: agents.send,
    }
  }

  #mayStartEarly(name: string): boolean {
    const { hooks, input } = this.#run
    const tool = input.dispatcher.tool(name)
    // A call must be recorded before a hook receives it.
    const isHooked = hooks.has("preToolCall") || hooks.has("postToolCall")
    return tool?.effect === "none" && !tool.effectOf && tool.concurrent && !isHooked && allowsAtOnce(this.#run, name)
  }
}

/** The decision about a call. `suspended`: the run pauses for this question or an earlier one. */
export type Decided = Exclude<Waited, Question> | { readonly kind: "suspended" }

const notBegun: ExecuteOptions = { begun: false }
const suspended: Suspended = { status: "suspended" }

/** The options of a call that runs with arguments other than the model's. */
export function changedBy(author: string, args: Json): ExecuteOptions {
  return { begun: false, note: `Run with arguments that ${author} changed: ${JSON.stringify(args)}` }
}

export function intentOf(run: OpenRun, call: ToolCall, effect: Effect) {
  const { callId } = call
  return { type: "tool-intent", callId, digest: digestOf(run, call), effect, key: callKey(run.key, callId) } as const
}

function contextOf(env: Environment, run: OpenRun, call: ToolCall, progress: ToolContext["progress"]): ToolContext {
  const { callId } = call
  return {
    signal: run.controls.signal,
    idempotencyKey: callKey(run.key, callId),
    workspaceId: run.key.workspaceId,
    runId: run.key.runId,
    runScope: runScope(run.tenant, run.key),
    ...(run.input.metadata && { metadata: run.input.metadata }),
    callId,
    ...(run.key.agent !== undefined && { agent: run.key.agent }),
    cwd: run.input.cwd,
    env,
    progress,
    redact: run.redactor.cut,
  }
}

function withNote(outcome: ToolOutcome, note: string | undefined): ToolOutcome {
  return note === undefined ? outcome : { ...outcome, output: [{ type: "text", text: note }, ...outcome.output] }
}
