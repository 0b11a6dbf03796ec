import type { ToolCall } from "../contract/backend.ts"
import type { HookedCall, HookedRun } from "../contract/hooks.ts"
import type { Effect, ToolContext, ToolOutcome } from "../contract/tool.ts"
import { canonicalJson } from "../lib/json.ts"
import { Turnstile } from "../lib/turnstile.ts"
import type { ResolvedConfig } from "./config.ts"
import type { OpenRun } from "./open-run.ts"

/** Settles the calls of one session: intent, effect, receipt, each exactly once. */
export interface CallSettler {
  call(call: ToolCall): Promise<ToolOutcome>
  startsEarly(name: string): boolean
  /** The call's `tool-call` is on record: its result may follow. */
  announce(callId: string): void
  /** The answer that early calls came from is void. */
  dropEarly(): void
}

export function createSettler(config: ResolvedConfig, run: OpenRun): CallSettler {
  const { journal, controls, hooks } = run
  const { dispatcher } = run.input
  const turnstile = new Turnstile()
  let open = 0
  const announced = new Set<string>()
  /** Early calls whose result waits for their `tool-call`; `false` tells them that it will never come. */
  const early = new Map<string, (onRecord: boolean) => void>()

  async function settle(call: ToolCall): Promise<ToolOutcome> {
    const tool = dispatcher.tool(call.name)
    const effect = tool?.effect ?? "none"
    // In the same tick as the other calls of its step, so that all their intents share one flush.
    open++
    if (effect !== "none") journal.append(intentOf(config, run, call, effect))
    await turnstile.enter(tool?.concurrent ?? true)
    try {
      if (effect !== "none") await journal.secure()
      if (controls.stopping) return record(call, notStarted(call), 0, effect)
      if (hooks.has("preToolCall")) await hooks.call("preToolCall", (hook, at) => hook.preToolCall?.(hooked(at, call)))
      const started = performance.now()
      const outcome = await dispatcher.dispatch(call, contextOf(config, run, call))
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
    journal.append({ type: "tool-result", callId: call.callId, outcome, durationMs: Math.round(durationMs) })
    // The last receipt of a step goes with the end of its turn, which follows at once; others must not wait for that.
    if (effect !== "none" && open > 1) run.flushSoon()
    return outcome
  }

  async function settleEarly(call: ToolCall): Promise<ToolOutcome> {
    const started = performance.now()
    const onRecord = new Promise<boolean>((resolve) => early.set(call.callId, resolve))
    const outcome = await dispatcher.dispatch(call, contextOf(config, run, call))
    const durationMs = performance.now() - started
    return (await onRecord) ? record(call, outcome, durationMs, "none") : outcome
  }

  const isHarmless = (name: string) => {
    const tool = dispatcher.tool(name)
    // What a hook is to hear of a call must be on record first.
    return tool?.effect === "none" && tool.concurrent && !hooks.has("preToolCall") && !hooks.has("postToolCall")
  }

  return {
    async call(call) {
      if (announced.has(call.callId)) return settle(call)
      return isHarmless(call.name) ? settleEarly(call) : notOnRecord(call)
    },
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

function hooked(run: HookedRun, { callId, name, args }: ToolCall): HookedCall {
  return { ...run, callId, name, args }
}

function intentOf(config: ResolvedConfig, { key, input }: OpenRun, { callId, name, args }: ToolCall, effect: Effect) {
  const digest = config.digest(canonicalJson([name, args, input.cwd]))
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
