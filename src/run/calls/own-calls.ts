import type { Permit, ToolCall } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { RecordBody } from "../../contract/event.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import type { ProjectedCall } from "../../journal/projected-call.ts"
import { dropOldest } from "../../journal/recent-calls.ts"
import { plainText } from "../../lib/content.ts"
import { jsonCopy } from "../../lib/json.ts"
import { mayUseOwn } from "../../settings/options/extensions.ts"
import { toParts } from "../../tools/kernel/content-parts.ts"
import { cutParts, fits, type OutputLimits } from "../../tools/kernel/output.ts"
import type { OpenRun } from "../state/open-run.ts"
import { realArgs } from "../state/redact-events.ts"
import { answeredRules, decideOwn, hookedCall, refusedNow } from "./decide.ts"
import { answeredInstead, denied } from "./outcomes.ts"
import { type CallRunner, intentOf } from "./run-call.ts"
import { digestOf } from "./same-call.ts"

type ToolResult = RecordBody & { readonly type: "tool-result" }

/** Calls that the backend runs itself: decides about them, and records that they begin and how they end, each once. */
export class OwnCalls {
  readonly #run: OpenRun
  readonly #runner: CallRunner
  /** Calls that this session began, refused or finished. */
  readonly #seen = new Map<string, { readonly call: ToolCall; outcome?: ToolOutcome | undefined }>()
  readonly #deciding = new Set<string>()
  readonly #hooked: Promise<unknown>[] = []

  constructor(run: OpenRun, runner: CallRunner) {
    this.#run = run
    this.#runner = runner
  }

  async authorize(announced: ToolCall, tool: OwnTool): Promise<Permit> {
    const { callId, name } = announced
    // One id, one call: the record of what ran has the id.
    if (this.#deciding.has(callId)) return refuse(`${name} was not started: another call with its id is being decided.`)
    this.#deciding.add(callId)
    try {
      return await this.#decide(announced, tool)
    } finally {
      this.#deciding.delete(callId)
    }
  }

  async #decide(announced: ToolCall, tool: OwnTool): Promise<Permit> {
    const call = this.#asApproved({ ...announced, args: jsonCopy(announced.args) })
    if (!this.#runner.isAnnounced(call.callId)) return refuse(`${call.name} was not started: its call is not recorded.`)
    const earlier = this.#earlier(call)
    if (earlier) return earlier
    // Its arguments are not those that it would run with: a decision about them says nothing.
    if (call.invalid !== undefined) return this.#deny(call, call.invalid)
    if (!mayUseOwn(this.#run.input.extensions.filter, tool)) return this.#deny(call, "the run may not use this tool")
    const decided = await this.#runner.decided(call, (each, options) =>
      decideOwn(this.#run, each, tool, { ...this.#approval(each), ...options }),
    )
    if (decided?.kind === "suspended") return { kind: "suspend", reason: "A person has to decide first." }
    if (decided === undefined || this.#run.controls.stopping)
      return refuse(`${call.name} was not started: the run is being stopped.`)
    if (decided.kind === "deny") return this.#deny(call, decided.reason)
    if (decided.kind === "answer") return this.#settle(call, answeredInstead(call, decided.text))
    const final = { ...call, args: decided.args }
    const { isApproved } = this.#approval(final)
    const ruled = isApproved ? answeredRules(this.#run, decided.ruled) : decided.ruled
    const refused = await refusedNow(this.#run, final, ruled, tool)
    return refused === undefined ? this.#begin(final, tool) : this.#deny(call, refused)
  }

  /** Records a result, unless the call has one. */
  finish(event: ToolResult): void {
    const { callId, outcome } = event
    const seen = this.#seen.get(callId)
    const isSettled = seen?.outcome !== undefined || this.#run.projection.calls.get(callId)?.outcome !== undefined
    if (isSettled && event.ungated === undefined) return
    const bounded = { status: outcome.status, output: bound(outcome) }
    if (seen) seen.outcome = bounded
    this.#run.journal.append({ ...event, outcome: bounded })
    const { hooks } = this.#run
    if (!seen || !hooks.has("postToolCall")) return
    this.#hooked.push(hooks.call("postToolCall", (hook, at) => hook.postToolCall?.(hookedCall(at, seen.call), bounded)))
  }

  /** Resolves when the hooks of finished calls have returned. */
  async settled(): Promise<void> {
    await Promise.all(this.#hooked.splice(0))
  }

  /** The answer to a call that was begun or settled before: it must not run again. */
  #earlier(call: ToolCall): Permit | undefined {
    const known = this.#run.projection.calls.get(call.callId)
    const outcome = this.#seen.get(call.callId)?.outcome ?? known?.outcome
    if (outcome) return refuse(plainText(outcome.output, "\n"))
    if (this.#seen.has(call.callId) || known?.intent !== undefined) {
      return refuse(`${call.name} was begun before, and its outcome is unknown. Check before you try again.`)
    }
    const decision = this.#decisionOn(known)
    return decision?.decision === "deny" ? this.#deny(call, decision.text ?? "the request was denied") : undefined
  }

  /** A person's approval of exactly this call: of the same call, or of the one that the model repeats. */
  #approval(call: ToolCall): { readonly isApproved?: boolean } {
    const { ask } = this.#run.projection
    const digest = digestOf(this.#run, call)
    return { isApproved: ask?.decision?.decision === "approve" && ask.decision.digest === digest }
  }

  /** The call with the arguments that a person approved for it. */
  #asApproved(call: ToolCall): ToolCall {
    const { ask, calls } = this.#run.projection
    const decision = this.#decisionOn(calls.get(call.callId))
    if (decision?.decision !== "approve") return call
    return { ...call, args: jsonCopy(decision.args ?? ask?.request.args ?? call.args) }
  }

  #decisionOn(known: ProjectedCall | undefined) {
    const { ask } = this.#run.projection
    return known && ask?.request.callId === known.callId ? ask.decision : undefined
  }

  #see(call: ToolCall, outcome?: ToolOutcome): void {
    this.#seen.set(call.callId, { call, outcome })
    dropOldest(this.#seen)
  }

  #deny(call: ToolCall, reason: string): Permit {
    return this.#settle(call, denied(call, reason))
  }

  /** The call does not run: this is its outcome. */
  #settle(call: ToolCall, outcome: ToolOutcome): Permit {
    this.#see(call, this.#runner.record(call, outcome))
    return refuse(plainText(outcome.output, "\n"))
  }

  /** Resolves once it is durable that the call begins. */
  async #begin(call: ToolCall, { effect }: OwnTool): Promise<Permit> {
    const { journal, hooks, controls } = this.#run
    const args = realArgs(this.#run, call)
    if (args === undefined) return this.#deny(call, "its arguments contain a secret that this process does not have")
    this.#see(call)
    try {
      const { isApproved } = this.#approval(call)
      // An approval is used up by its intent.
      if (effect !== "none" || isApproved) {
        journal.append(intentOf(this.#run, call, effect))
        await journal.flush()
      }
      if (hooks.has("preToolCall")) {
        await hooks.call("preToolCall", (hook, at) => hook.preToolCall?.(hookedCall(at, call)))
      }
      return { kind: "run", args }
    } catch (error) {
      controls.lose(error)
      return refuse(`${call.name} was not started: the run is being stopped.`)
    }
  }
}

function refuse(reason: string): Permit {
  return { kind: "refuse", reason }
}

/**
 * The model has received the whole output from its vendor; the journal keeps as much of it as of other results, in a form that every
 * provider accepts.
 */
function bound({ output }: ToolOutcome): ToolOutcome["output"] {
  const parts = output.length === 0 ? output : toParts(output)
  return fits(parts, KEPT) ? parts : cutParts(parts, KEPT)
}

const KEPT: OutputLimits = { maxBytes: 256 * 1024, maxCharacters: 100_000 }
