import type { Suspended, ToolCall } from "../contract/backend.ts"
import type { HookedCall, HookedRun } from "../contract/hooks.ts"
import type { Json } from "../contract/json.ts"
import type { AskReason } from "../contract/result.ts"
import type { Effect, Tool, ToolContext, ToolOutcome } from "../contract/tool.ts"
import { newNonce } from "../lib/id.ts"
import { canonicalJson } from "../lib/json.ts"
import { Turnstile } from "../lib/turnstile.ts"
import type { ResolvedConfig } from "./config.ts"
import type { OpenRun } from "./open-run.ts"
import { createOverflow } from "./overflow.ts"

/** Settles the calls of one session: intent, effect, receipt, each exactly once. */
export interface CallSettler {
  call(call: ToolCall): Promise<ToolOutcome | Suspended>
  /** One that may run: asks nobody. */
  approved(call: ToolCall, how: Approved): Promise<ToolOutcome>
  /** The run has to wait for a person's word about this call. */
  suspend(call: ToolCall, reason: AskReason, question: string, edited?: boolean): Suspended
  /** Puts what became of a call on record without running it. */
  record(call: ToolCall, outcome: ToolOutcome): ToolOutcome
  startsEarly(name: string): boolean
  /** The call's `tool-call` is on record: its result may follow. */
  announce(callId: string): void
  /** The answer that early calls came from is void. */
  dropEarly(): void
}

export interface Approved {
  /** Its intent is on record already. */
  readonly begun: boolean
  /** For the model, in front of the result. */
  readonly note?: string
}

export function createSettler(config: ResolvedConfig, run: OpenRun): CallSettler {
  const { journal, controls, hooks } = run
  const { dispatcher } = run.input
  const overflow = createOverflow(config, run)
  const turnstile = new Turnstile()
  let open = 0
  const announced = new Set<string>()
  /** Early calls whose result waits for their `tool-call`; `false` tells them that it will never come. */
  const early = new Map<string, (onRecord: boolean) => void>()

  /** Gates are asked one after another, in the order of the calls. */
  const gate = new Turnstile()

  async function judged(call: ToolCall): Promise<ToolOutcome | Suspended> {
    await gate.enter(false)
    let verdict: Verdict
    try {
      verdict = run.asked ? "suspended" : controls.stopping ? "run" : await judge(run, call, false)
      if (typeof verdict === "object" && verdict.reason !== undefined) {
        return suspend(call, verdict.reason, verdict.question)
      }
    } finally {
      gate.leave()
    }
    if (verdict === "suspended") return suspended
    return verdict === "run" ? settle(call) : record(call, denied(call, verdict.question), 0, "none")
  }

  function suspend(call: ToolCall, reason: AskReason, question: string, edited = false): Suspended {
    if (run.asked) return suspended
    const { callId, args } = call
    const digest = callDigest(config, call, run.input.cwd)
    const ticket = newNonce()
    run.asked = { type: "approval-request", callId, digest, ticket, reason, question, ...(edited && { args }) }
    journal.append(run.asked)
    return suspended
  }

  async function settle(call: ToolCall, { begun, note }: Approved = { begun: false }): Promise<ToolOutcome> {
    const tool = dispatcher.tool(call.name)
    const effect = tool?.effect ?? "none"
    // In the same tick as the other calls of its step, so that all their intents share one flush.
    open++
    if (effect !== "none" && !begun) journal.append(intentOf(config, run, call, effect))
    await turnstile.enter(tool?.concurrent ?? true)
    try {
      if (effect !== "none") await journal.secure()
      if (controls.stopping) return record(call, notStarted(call), 0, effect)
      if (hooks.has("preToolCall")) await hooks.call("preToolCall", (hook, at) => hook.preToolCall?.(hooked(at, call)))
      const started = performance.now()
      const outcome = noted(await overflow.dispatch(call, contextOf(config, run, call)), note)
      const settled = record(call, inDoubt(outcome) ? unknown(call) : outcome, performance.now() - started, effect)
      if (hooks.has("postToolCall")) {
        await hooks.call("postToolCall", (hook, at) => hook.postToolCall?.(hooked(at, call), settled))
      }
      return settled
    } catch (error) {
      // The intent is not durable, or the run is somebody else's: nothing may happen here any more.
      controls.lose(error)
      return notStarted(call)
    } finally {
      open--
      turnstile.leave()
    }

    /** A tool with an effect that was stopped half way may have had it. */
    function inDoubt(outcome: ToolOutcome): boolean {
      return effect !== "none" && controls.signal.aborted && outcome.status === "error"
    }
  }

  function record(call: ToolCall, outcome: ToolOutcome, durationMs: number, effect: Effect): ToolOutcome {
    overflow.recorded(call.callId)
    journal.append({ type: "tool-result", callId: call.callId, outcome, durationMs: Math.round(durationMs) })
    // The last receipt of a step goes with the end of its turn, which follows at once; others must not wait for that.
    if (effect !== "none" && open > 1) run.flushSoon()
    return outcome
  }

  async function settleEarly(call: ToolCall): Promise<ToolOutcome> {
    const started = performance.now()
    const onRecord = new Promise<boolean>((resolve) => early.set(call.callId, resolve))
    const outcome = await overflow.dispatch(call, contextOf(config, run, call))
    const durationMs = performance.now() - started
    return (await onRecord) ? record(call, outcome, durationMs, "none") : outcome
  }

  const isJudged = (name: string) => hooks.has("gateBeforeTool") || dispatcher.tool(name)?.question !== undefined

  const isHarmless = (name: string) => {
    if (isJudged(name)) return false
    const tool = dispatcher.tool(name)
    // What a hook is to hear of a call must be on record first.
    return tool?.effect === "none" && tool.concurrent && !hooks.has("preToolCall") && !hooks.has("postToolCall")
  }

  return {
    call(call) {
      if (announced.has(call.callId)) return isJudged(call.name) ? judged(call) : settle(call)
      return isHarmless(call.name) ? settleEarly(call) : Promise.resolve(notOnRecord(call))
    },
    approved: settle,
    suspend,
    record: (call, outcome) => record(call, outcome, 0, "none"),
    startsEarly: (name) => isHarmless(name) && !controls.stopping,
    announce(callId) {
      announced.add(callId)
      early.get(callId)?.(true)
      early.delete(callId)
    },
    dropEarly() {
      for (const tell of early.values()) tell(false)
      early.clear()
    },
  }
}

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

function contextOf(config: ResolvedConfig, run: OpenRun, { callId }: ToolCall): ToolContext {
  const { runId, nodeId } = run.key
  return {
    signal: run.controls.signal,
    idempotencyKey: idempotencyKey(runId, nodeId, callId),
    runId,
    callId,
    cwd: run.input.cwd,
    env: config.env,
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
