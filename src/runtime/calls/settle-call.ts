import type { Suspended, ToolCall } from "../../contract/backend.ts"
import type { Environment } from "../../contract/env.ts"
import type { HookedCall, HookedRun } from "../../contract/hooks.ts"
import type { Json } from "../../contract/json.ts"
import type { AskReason } from "../../contract/result.ts"
import type { Effect, Tool, ToolContext, ToolOutcome } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { canonicalJson } from "../../lib/json.ts"
import type { ResolvedConfig } from "../config.ts"
import type { OpenRun } from "../open-run.ts"
import { Overflow } from "./overflow.ts"
import { Turnstile } from "./turnstile.ts"

export interface Approved {
  /** Its intent is on record already. */
  readonly begun: boolean
  /** For the model, in front of the result. */
  readonly note?: string
}

/** Settles the calls of one session: intent, effect, receipt, each exactly once. */
export class CallSettler {
  readonly #config: ResolvedConfig
  readonly #run: OpenRun
  readonly #overflow: Overflow
  readonly #turnstile = new Turnstile()
  /** Gates are asked one after another, in the order of the calls. */
  #gate: Turnstile | undefined
  #open = 0
  readonly #announced = new Set<string>()
  /** Early calls whose result waits for their `tool-call`; `false` tells them that it will never come. */
  #early: Map<string, (onRecord: boolean) => void> | undefined

  constructor(config: ResolvedConfig, run: OpenRun) {
    this.#config = config
    this.#run = run
    this.#overflow = new Overflow(config, run)
  }

  call(call: ToolCall): Promise<ToolOutcome | Suspended> {
    if (this.#announced.has(call.callId)) return this.#isJudged(call.name) ? this.#judged(call) : this.approved(call)
    return this.#isHarmless(call.name) ? this.#settleEarly(call) : Promise.resolve(notOnRecord(call))
  }

  startsEarly(name: string): boolean {
    return this.#isHarmless(name) && !this.#run.controls.stopping
  }

  /** The call's `tool-call` is on record: its result may follow. */
  announce(callId: string): void {
    this.#announced.add(callId)
    this.#early?.get(callId)?.(true)
    this.#early?.delete(callId)
  }

  /** The answer that early calls came from is void. */
  dropEarly(): void {
    for (const tell of this.#early?.values() ?? []) tell(false)
    this.#early = undefined
  }

  /** Names exactly what would run: an approval of it counts for nothing else. */
  digestOf(call: Pick<ToolCall, "name" | "args">): string {
    return callDigest(this.#config, call, this.#run.input.cwd)
  }

  /** The run has to wait for a person's word about this call. */
  suspend(call: ToolCall, reason: AskReason, question: string, edited = false): Suspended {
    const run = this.#run
    if (run.asked) return suspended
    const { callId, args } = call
    const digest = this.digestOf(call)
    const ticket = newNonce()
    run.asked = { type: "approval-request", callId, digest, ticket, reason, question, ...(edited && { args }) }
    run.journal.append(run.asked)
    return suspended
  }

  /** One that may run: asks nobody. */
  async approved(call: ToolCall, { begun, note }: Approved = unbegun): Promise<ToolOutcome> {
    const { journal, controls, hooks, input } = this.#run
    const tool = input.dispatcher.tool(call.name)
    const effect = tool?.effect ?? "none"
    // In the same tick as the other calls of its step, so that all their intents share one flush.
    this.#open++
    if (effect !== "none" && !begun) journal.append(intentOf(this.#config, this.#run, call, effect))
    const turn = this.#turnstile.enter(tool?.concurrent ?? true)
    if (turn) await turn
    try {
      if (effect !== "none") await journal.flush()
      if (controls.stopping) return this.record(call, notStarted(call), 0, effect)
      if (hooks.has("preToolCall")) await hooks.call("preToolCall", (hook, at) => hook.preToolCall?.(hooked(at, call)))
      const started = performance.now()
      const outcome = noted(await this.#dispatch(call), note)
      // A tool with an effect that was stopped half way may have had it.
      const inDoubt = effect !== "none" && controls.signal.aborted && outcome.status === "error"
      const settled = this.record(call, inDoubt ? unknown(call) : outcome, performance.now() - started, effect)
      if (hooks.has("postToolCall")) {
        await hooks.call("postToolCall", (hook, at) => hook.postToolCall?.(hooked(at, call), settled))
      }
      return settled
    } catch (error) {
      // The intent is not durable, or the run is somebody else's: nothing may happen here any more.
      controls.lose(error)
      return notStarted(call)
    } finally {
      this.#open--
      this.#turnstile.leave()
    }
  }

  /** Puts what became of a call on record. */
  record(call: ToolCall, outcome: ToolOutcome, durationMs = 0, effect: Effect = "none"): ToolOutcome {
    const { journal } = this.#run
    this.#overflow.recorded(call)
    journal.append({ type: "tool-result", callId: call.callId, outcome, durationMs: Math.round(durationMs) })
    // The last receipt of a step goes with the end of its turn, which follows at once; others must not wait for that.
    if (effect !== "none" && this.#open > 1) journal.flushSoon()
    return outcome
  }

  async #judged(call: ToolCall): Promise<ToolOutcome | Suspended> {
    const run = this.#run
    this.#gate ??= new Turnstile()
    await this.#gate.enter(false)
    let verdict: Verdict
    try {
      verdict = run.asked ? "suspended" : run.controls.stopping ? "run" : await judge(run, call, false)
      if (typeof verdict === "object" && verdict.reason !== undefined) {
        return this.suspend(call, verdict.reason, verdict.question)
      }
    } finally {
      this.#gate.leave()
    }
    if (verdict === "suspended") return suspended
    return verdict === "run" ? this.approved(call) : this.record(call, denied(call, verdict.question))
  }

  async #settleEarly(call: ToolCall): Promise<ToolOutcome> {
    const started = performance.now()
    const onRecord = new Promise<boolean>((resolve) => {
      this.#early ??= new Map()
      this.#early.set(call.callId, resolve)
    })
    const outcome = await this.#dispatch(call)
    const durationMs = performance.now() - started
    return (await onRecord) ? this.record(call, outcome, durationMs) : outcome
  }

  #dispatch(call: ToolCall): Promise<ToolOutcome> {
    return this.#overflow.dispatch(call, contextOf(this.#overflow.env, this.#run, call))
  }

  #isJudged(name: string): boolean {
    const { hooks, input } = this.#run
    return hooks.has("gateBeforeTool") || input.dispatcher.tool(name)?.question !== undefined
  }

  #isHarmless(name: string): boolean {
    if (this.#isJudged(name)) return false
    const { hooks, input } = this.#run
    const tool = input.dispatcher.tool(name)
    // What a hook is to hear of a call must be on record first.
    return tool?.effect === "none" && tool.concurrent && !hooks.has("preToolCall") && !hooks.has("postToolCall")
  }
}

const unbegun: Approved = { begun: false }
const suspended: Suspended = { status: "suspended" }

/** Let run, to wait for another, refused for a reason, or to be asked about. */
type Verdict = "run" | "suspended" | { readonly question: string; readonly reason?: AskReason }

/** What the gate says of a call. Whatever goes wrong in it, the call does not run. */
export async function judge({ hooks, input }: OpenRun, call: ToolCall, edited: boolean): Promise<Verdict> {
  const question = call.invalid === undefined ? questionOf(input.dispatcher.tool(call.name), call.args) : undefined
  if (question !== undefined) return { reason: "input", question }
  if (!hooks.has("gateBeforeTool")) return "run"
  const verdict = await hooks.call("gateBeforeTool", (hook, at) =>
    hook.gateBeforeTool?.({ ...hooked(at, call), edited }),
  )
  if (verdict?.allow === true) return "run"
  if (verdict?.allow !== false) return { question: `${call.name} was not started: what decides about it failed.` }
  return { reason: "approval", question: String(verdict.reason) }
}

/** Arguments that cannot be asked about do not fit the tool, which will say so itself. */
function questionOf(tool: Tool | undefined, args: Json): string | undefined {
  try {
    return tool?.question?.(args)
  } catch {
    return undefined
  }
}

function hooked(run: HookedRun, { callId, name, args }: ToolCall): HookedCall {
  return { ...run, callId, name, args }
}

/** What exactly is to run: a decision about it counts for nothing else. */
export function callDigest(config: ResolvedConfig, { name, args }: Pick<ToolCall, "name" | "args">, cwd: string) {
  return config.digest(canonicalJson([name, args, cwd]))
}

function intentOf(config: ResolvedConfig, { key, input }: OpenRun, call: ToolCall, effect: Effect) {
  const { callId } = call
  const digest = callDigest(config, call, input.cwd)
  return { type: "tool-intent", callId, digest, effect, key: idempotencyKey(key.runId, key.nodeId, callId) } as const
}

function contextOf(env: Environment, run: OpenRun, { callId }: ToolCall): ToolContext {
  const { runId, nodeId } = run.key
  return {
    signal: run.controls.signal,
    idempotencyKey: idempotencyKey(runId, nodeId, callId),
    runId,
    callId,
    cwd: run.input.cwd,
    env,
    progress: (message) => run.show({ type: "tool-progress", callId, message }),
  }
}

/** The same for every attempt at a call, in whatever process. */
function idempotencyKey(runId: string, nodeId: string, callId: string): string {
  return `${runId}/${nodeId}/${callId}`
}

function noted(outcome: ToolOutcome, note: string | undefined): ToolOutcome {
  return note === undefined ? outcome : { ...outcome, output: [{ type: "text", text: note }, ...outcome.output] }
}

function denied({ name }: ToolCall, why: string): ToolOutcome {
  return { status: "denied", output: [{ type: "text", text: why === "" ? `${name} was denied.` : why }] }
}

function notStarted({ name }: ToolCall): ToolOutcome {
  return { status: "denied", output: [{ type: "text", text: `${name} was not started: the run is being stopped.` }] }
}

/** A backend's mistake. An effect whose call is on no record could never be found again after a crash. */
function notOnRecord({ name }: ToolCall): ToolOutcome {
  return { status: "denied", output: [{ type: "text", text: `${name} was not started: its call is not on record.` }] }
}

function unknown({ name }: ToolCall): ToolOutcome {
  const text = `${name} was running when the run was stopped. It may or may not have taken effect: check before you try again.`
  return { status: "unknown", output: [{ type: "text", text }] }
}
