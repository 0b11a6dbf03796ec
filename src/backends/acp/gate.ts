import type { ToolCall, TurnHost } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { Json } from "../../contract/json.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { answerText } from "../shared/call-answers.ts"
import type { AcpAgent } from "./agents.ts"
import { type AcpCallFacts, cancelledAnswer, objectOf, type PermissionQuestion, permissionAnswer } from "./protocol.ts"
import type { Recording } from "./recording.ts"
import { argumentsOf, merged, oursIn, ownTool, type SeenCall, sameJson } from "./tools.ts"
import { outcomeOf } from "./translate.ts"

export interface GateParts {
  readonly agent: AcpAgent
  readonly host: TurnHost
  readonly recording: Recording
  /** The name of the MCP server with the runtime's tools. */
  readonly bridge: string
  readonly tools: readonly string[]
  /** The caller's MCP servers. */
  readonly servers: readonly string[]
  /** The last turn of the run: no request may follow it, so the result of a call would not be used. */
  readonly lastTurn: number
  /** The last turn has a call. Resolves when the request to stop was sent to the agent. */
  onLastTurn(): Promise<void>
  /** A call waits for a person, and no other call runs. Resolves when the request to stop was sent to the agent. Called once. */
  onSuspend(isOwn: boolean): Promise<void>
}

/**
 * Follows the calls of an agent. Its questions about its own tools are answered by the policy; calls that it does not ask
 * about are recorded as it reports them. A call of the runtime's tools is recorded when it reaches the bridge.
 */
export class AcpGate {
  readonly #parts: GateParts
  readonly #seen = new Map<string, SeenCall>()
  readonly #decisions = new Map<string, Decided>()
  readonly #isAsked = new Set<string>()
  /** Permitted calls that have not ended. */
  readonly #running = new Set<string>()
  /** Distinguishes the calls of this run: agents count theirs from zero in each session. */
  readonly #prefix = newNonce().slice(0, 8)
  readonly #refusals: string[] = []
  #suspended: { readonly callId: string; readonly isOwn: boolean; tell(): void } | undefined
  #bridged = 0
  #isOver = false

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /** Records what an update reports about a call, in the order of arrival. */
  async update(facts: AcpCallFacts, isInterrupted: boolean): Promise<void> {
    const { recording, agent } = this.#parts
    const call = merged(this.#seen.get(facts.id), facts, true)
    this.#seen.set(facts.id, call)
    const isRejected = agent.rejects?.(objectOf(call.rawInput)) ?? false
    const reported = outcomeOf(call)
    const outcome: ToolOutcome | undefined = isRejected && reported ? { ...reported, status: "error" } : reported
    const ours = this.#oursIn(call)
    if (ours !== undefined) {
      await recording.begin()
      if (agent.checksArguments && outcome?.status === "error" && !this.#isAsked.has(facts.id)) {
        await this.#rejected(call, ours, outcome)
      }
      return
    }
    // Before that, its arguments may be incomplete.
    if (outcome === undefined && call.status !== "in_progress") return
    const { args } = argumentsOf(call)
    const tool = this.#toolOf(call)
    const callId = this.#idOf(facts.id)
    // It stays open, although the agent reports that it was cancelled.
    if (callId === this.#suspended?.callId) return
    if (!(await recording.addCall({ callId, name: tool.name, args }, "backend"))) return
    // It runs already: only the next request can still be prevented.
    if (this.#isLastTurn) void this.#parts.onLastTurn()
    if (outcome === undefined) return
    const isUnknown = isInterrupted && outcome.status === "error" && tool.effect !== "none"
    recording.addResult(callId, isUnknown ? { ...outcome, status: "unknown" } : outcome, isRejected)
    this.#ended(callId)
  }

  /** Answers a question of the agent. Whatever fails refuses. */
  async question(question: PermissionQuestion): Promise<Json> {
    try {
      return await this.#answer(question)
    } catch {
      return permissionAnswer(question, "reject_once")
    }
  }

  /** Runs a call of the runtime's tools that reached the bridge. */
  async callTool(name: string, args: Json): Promise<ToolOutcome> {
    const { host, recording } = this.#parts
    const call: ToolCall = { callId: `${this.#prefix}-bridge-${++this.#bridged}`, name, args }
    if (this.#suspended) return denied(HELD)
    if (!(await recording.enqueue(() => recording.addCall(call)))) return denied(STOPPING)
    if (this.#isLastTurn) return this.#refuseLast(call)
    this.#running.add(call.callId)
    const outcome = await host.callTool(call).catch(() => undefined)
    if (outcome === undefined) return this.#failed(call)
    if (outcome.status === "suspended") {
      const isFirst = await this.#suspend(call.callId, false)
      return denied(isFirst ? WAITS : HELD)
    }
    await recording.enqueue(() => recording.settle(call.callId))
    this.#ended(call.callId)
    return outcome
  }

  /** The run has ended: nothing is permitted from now on. */
  close(): void {
    this.#isOver = true
  }

  get hasRefusals(): boolean {
    return this.#refusals.length > 0
  }

  /** The reasons of refusals that the model has not received: the protocol has no place for them. */
  takeRefusals(): readonly string[] {
    return this.#refusals.splice(0)
  }

  async #answer(question: PermissionQuestion): Promise<Json> {
    const { recording } = this.#parts
    const { call: asked } = question
    this.#isAsked.add(asked.id)
    const seen = await recording.enqueue(() => this.#note(asked))
    if (this.#oursIn(seen, asked) !== undefined) return permissionAnswer(question, "allow_once")
    const { args, inexact } = argumentsOf(seen, asked)
    const tool = this.#toolOf(seen)
    const call: ToolCall = { callId: this.#idOf(asked.id), name: tool.name, args, ...(inexact && { inexact }) }
    const known = this.#decisions.get(asked.id)
    // An agent may ask several questions about one call. Another call under the same id is refused by the runtime.
    const decision =
      known && known.name === tool.name && sameJson(known.args, args) ? known.decision : this.#decide(call, tool)
    this.#decisions.set(asked.id, { name: tool.name, args, decision })
    switch (await decision) {
      case "run":
        return permissionAnswer(question, "allow_once")
      case "refuse":
        return permissionAnswer(question, "reject_once")
      case "suspend":
        return cancelledAnswer
    }
  }

  /** The known facts about the call. A question about something other than what was announced stands alone. */
  #note(asked: AcpCallFacts): SeenCall {
    const known = this.#seen.get(asked.id)
    if (known && (asked.kind === undefined || asked.kind === known.kind)) return known
    const seen = merged(undefined, asked, false)
    this.#seen.set(asked.id, seen)
    return seen
  }

  async #decide(call: ToolCall, tool: OwnTool): Promise<"run" | "refuse" | "suspend"> {
    const { host, recording } = this.#parts
    if (!(await recording.enqueue(() => recording.addCall(call, "backend")))) return "refuse"
    if (this.#suspended) return this.#refuse(call, HELD)
    if (this.#isLastTurn) {
      await this.#refuseLast(call)
      return "suspend"
    }
    const permit = await host.authorize(call, tool).catch(() => undefined)
    // An agent that gets an answer late must not run the call either.
    if (permit === undefined || this.#isOver) return this.#refuse(call, permit === undefined ? FAILED : STOPPING)
    if (permit.kind === "suspend") return (await this.#suspend(call.callId, true)) ? "suspend" : "refuse"
    if (permit.kind === "refuse") return this.#refuse(call, permit.reason, true)
    if (!sameJson(permit.args, call.args)) return this.#refuse(call, UNCHANGEABLE)
    this.#running.add(call.callId)
    return "run"
  }

  get #isLastTurn(): boolean {
    return this.#parts.recording.steps.turn >= this.#parts.lastTurn
  }

  /** The agent is asked to stop before it gets the answer: with an answer it would ask its model again. */
  async #refuseLast(call: ToolCall): Promise<ToolOutcome> {
    const { recording, onLastTurn } = this.#parts
    await recording.enqueue(() => recording.addResult(call.callId, denied(LAST_TURN)))
    await onLastTurn()
    return denied(LAST_TURN)
  }

  async #failed(call: ToolCall): Promise<ToolOutcome> {
    const { recording } = this.#parts
    await recording.enqueue(() => recording.addResult(call.callId, denied(FAILED)))
    this.#ended(call.callId)
    return denied(FAILED)
  }

  /** `isRecorded`: the runtime has recorded the refusal. */
  async #refuse(call: ToolCall, reason: string, isRecorded = false): Promise<"refuse"> {
    const { recording } = this.#parts
    const outcome = denied(reason)
    await recording.enqueue(() =>
      isRecorded ? recording.refuse(call.callId) : recording.addResult(call.callId, outcome),
    )
    this.#refusals.push(answerText({ kind: "outcome", call, outcome }))
    return "refuse"
  }

  /** Resolves when the request to stop was sent to the agent. False: another call waits already, and this one is refused. */
  async #suspend(callId: string, isOwn: boolean): Promise<boolean> {
    const { recording } = this.#parts
    this.#running.delete(callId)
    if (this.#suspended) {
      await recording.enqueue(() => recording.addResult(callId, denied(HELD)))
      this.#stopIfIdle()
      return false
    }
    let tell = () => {}
    const told = new Promise<void>((resolve) => {
      tell = resolve
    })
    this.#suspended = { callId, isOwn, tell }
    this.#stopIfIdle()
    await told
    return true
  }

  #ended(callId: string): void {
    this.#running.delete(callId)
    this.#stopIfIdle()
  }

  #stopIfIdle(): void {
    if (this.#suspended === undefined || this.#running.size > 0) return
    void this.#parts.onSuspend(this.#suspended.isOwn).then(this.#suspended.tell)
  }

  /** A call of the runtime's tools that the agent itself did not accept: it never reaches the bridge. */
  async #rejected(call: SeenCall, name: string, outcome: ToolOutcome): Promise<void> {
    const { recording } = this.#parts
    const callId = this.#idOf(call.id)
    if (!(await recording.addCall({ callId, name, args: call.rawInput ?? {} }, "backend"))) return
    recording.addResult(callId, outcome, true)
  }

  #oursIn(call: SeenCall, asked?: AcpCallFacts): string | undefined {
    const { bridge, tools, agent } = this.#parts
    return oursIn(call, asked, bridge, tools, agent.naming)
  }

  #toolOf(call: SeenCall): OwnTool {
    return ownTool(call, this.#parts.servers, this.#parts.agent.naming)
  }

  #idOf(vendorId: string): string {
    return `${this.#prefix}-${vendorId}`
  }
}

interface Decided {
  readonly name: string
  readonly args: Json
  readonly decision: Promise<"run" | "refuse" | "suspend">
}

function denied(reason: string): ToolOutcome {
  return { status: "denied", output: [{ type: "text", text: reason }] }
}

const HELD =
  "Not run: another call of this step waits for a person's decision. Call it again afterwards if it is needed."
const FAILED = "Not run: the decision failed."
const STOPPING = "Not run: the run is being stopped."
const LAST_TURN = "Not run: the limit of turns is reached, so that its result could not be used."
const WAITS = "Not run yet: a person has to decide first. Stop now."
const UNCHANGEABLE =
  "Not run: the policy allows it only with other arguments, and this agent does not take them. Change the call."
