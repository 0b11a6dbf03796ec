import type { ToolCall, TurnHost } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import type { Effect, ToolOutcome } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { canonicalJson } from "../../lib/json.ts"
import type { Steps } from "../shared/steps.ts"
import type { ToolNames } from "./tools.ts"
import type { ClaudeQuestion, HookAnswer, PermitAnswer } from "./wire.ts"

/** A call for which a person has to decide. */
export interface DeferredCall {
  readonly callId: string
  /** The program was asked to put it off. False: the work must stop, and the model has to make the call again. */
  readonly isDeferred: boolean
}

interface GateParts {
  readonly host: TurnHost
  readonly steps: Steps
  readonly names: ToolNames
  /** Called once, when a call has to wait for a person. */
  onSuspend(suspension: DeferredCall): void
}

/**
 * Decides each call of a session, once, in the hook. The permission callback is the second gate: only a call that the hook allowed,
 * with exactly the arguments that were decided, may run.
 */
export class ClaudeGate {
  readonly #parts: GateParts
  readonly #calls = new Map<string, DecidedCall>()
  /** The outcomes of the runtime's tools, until the program fetches them. */
  readonly #outcomes = new Map<string, ToolOutcome>()
  readonly #refused = new Map<string, string>()
  /** Calls of the program's own tools that may run. */
  readonly #begun = new Map<string, Effect>()
  #suspended = false

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  async hook(question: ClaudeQuestion): Promise<HookAnswer> {
    const decision = await this.#decide(question)
    switch (decision.kind) {
      case "run":
        return { kind: "ask", args: decision.args }
      case "refuse":
        return { kind: "deny", reason: decision.reason }
      case "suspend":
        return { kind: "defer" }
    }
  }

  async permit({ callId, name, args }: ClaudeQuestion): Promise<PermitAnswer> {
    const known = this.#calls.get(callId)
    const decision = await known?.decision
    if (decision?.kind === "run" && known?.name === name && sameJson(args, decision.args)) {
      return { kind: "allow", args: decision.args }
    }
    return { kind: "deny", reason: decision?.kind === "refuse" ? decision.reason : NOT_DECIDED }
  }

  /** The outcome of a call of the runtime's tools. Only the program's own call gets it, once. */
  outcomeOf(callId: string): ToolOutcome {
    const outcome = this.#outcomes.get(callId) ?? notDecided
    this.#outcomes.delete(callId)
    return outcome
  }

  /** The result of a call, for the model. A call that is stopped while it runs may have had its effect. */
  outcomeFor(callId: string, outcome: ToolOutcome, isInterrupted: boolean): ToolOutcome {
    const reason = this.#refused.get(callId)
    // A refused call that succeeds has run despite the refusal.
    if (reason !== undefined && outcome.status !== "ok")
      return { status: "denied", output: [{ type: "text", text: reason }] }
    const effect = this.#begun.get(callId) ?? "none"
    return isInterrupted && outcome.status === "error" && effect !== "none"
      ? { ...outcome, status: "unknown" }
      : outcome
  }

  /** A call that no one was asked about, and that the program did not run: it does not accept it, or was stopped before. */
  isRejected(callId: string, { status, output }: ToolOutcome, isInterrupted: boolean): boolean {
    if (this.#calls.has(callId) || status === "ok") return false
    return isInterrupted || plainText(output, "").startsWith(NOT_ACCEPTED)
  }

  #decide(question: ClaudeQuestion): Promise<Decision> {
    const { callId, name, args } = question
    const known = this.#calls.get(callId)
    if (known && known.name === name && sameJson(known.args, args)) return known.decision
    // The runtime refuses an id that was used for another call.
    const failed: Decision = { kind: "refuse", reason: FAILED }
    const asked = this.#ask(question).catch(() => failed)
    const decision = asked.then((made) => {
      if (made.kind === "refuse") this.#refused.set(callId, made.reason)
      return made
    })
    this.#calls.set(callId, { name, args, decision })
    return decision
  }

  async #ask(question: ClaudeQuestion): Promise<Decision> {
    const { names, host, steps } = this.#parts
    const { callId, name, args, server } = question
    if (names.isOutput(name)) return { kind: "run", args }
    const ours = names.ours(name)
    if (ours !== undefined) return this.#askOurs({ callId, name: ours, args }, question)
    const tool = names.own(name, server)
    const call: ToolCall = { callId, name: tool.name, args }
    steps.addCall(call, "backend")
    const permit = await host.authorize(call, tool)
    if (permit.kind === "suspend") return this.#suspend(question)
    if (permit.kind === "run") this.#begun.set(callId, tool.effect)
    return permit
  }

  /** One of the runtime's tools runs now; the program then fetches its outcome. */
  async #askOurs(call: ToolCall, question: ClaudeQuestion): Promise<Decision> {
    const { host, steps } = this.#parts
    steps.addCall(call)
    const outcome = await host.callTool(call)
    if (outcome.status === "suspended") return this.#suspend(question)
    this.#outcomes.set(call.callId, outcome)
    steps.settle(call.callId)
    return { kind: "run", args: call.args }
  }

  /** The program can defer one call of a step; the model has to make the others again. */
  #suspend({ callId, nested }: ClaudeQuestion): Decision {
    const { onSuspend, steps } = this.#parts
    if (this.#suspended) {
      steps.addResult(callId, { status: "denied", output: [{ type: "text", text: HELD }] })
      return { kind: "refuse", reason: HELD }
    }
    this.#suspended = true
    // A subagent ends when a call is deferred, and nothing presents it again.
    onSuspend({ callId, isDeferred: !nested })
    return nested ? { kind: "refuse", reason: WAITS } : { kind: "suspend" }
  }
}

interface DecidedCall {
  readonly name: string
  readonly args: Json
  readonly decision: Promise<Decision>
}

type Decision =
  | { readonly kind: "run"; readonly args: Json }
  | { readonly kind: "refuse"; readonly reason: string }
  | { readonly kind: "suspend" }

function sameJson(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other)
}

const HELD =
  "Not run: another call of this step waits for a person's decision. Call it again afterwards if it is needed."
/** How the program begins its own errors about a call. */
const NOT_ACCEPTED = "<tool_use_error>"
const FAILED = "Not run: the decision failed."
const NOT_DECIDED = "Not run: this is not a call that was allowed."
const WAITS = "Not run: a person has to decide first."

const notDecided: ToolOutcome = {
  status: "denied",
  output: [{ type: "text", text: NOT_DECIDED }],
}
