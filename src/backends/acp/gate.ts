import type { ToolCall, TurnHost } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { Json } from "../../contract/json.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { answerText } from "../shared/call-answers.ts"
import type { AcpAgent } from "./agents.ts"
import { type CallFacts, cancelledAnswer, type PermissionQuestion, permissionAnswer } from "./protocol.ts"
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
  /** A call waits for a person, and no other call runs. Resolves when the agent was told to stop. Called once. */
  onSuspend(isOwn: boolean): Promise<void>
}

/**
 * Follows the calls of an agent. Its questions about its own tools are answered by the policy; calls that it does not ask
 * about are recorded as it reports them. A call of the runtime's tools is recorded when it reaches the bridge.
 */
export class Gate {
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

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /** Takes what an update tells of a call, in the order of arrival. */
  async update(facts: CallFacts, isInterrupted: boolean): Promise<void> {
    const { recording, agent } = this.#parts
    const call = merged(this.#seen.get(facts.id), facts, true)
    this.#seen.set(facts.id, call)
    const outcome = outcomeOf(call)
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
    if (!(await recording.addCall({ callId, name: tool.name, args }, "backend")) || outcome === undefined) return
    if (!this.#isAsked.has(facts.id)) this.#warn(tool)
    const isUnknown = isInterrupted && outcome.status === "error" && tool.effect !== "none"
    recording.addResult(callId, isUnknown ? { ...outcome, status: "unknown" } : outcome)
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
    this.#running.add(call.callId)
    const outcome = await host.callTool(call)
    if (outcome.status === "suspended") {
      const isFirst = await this.#suspend(call.callId, false)
      return denied(isFirst ? WAITS : HELD)
    }
    await recording.enqueue(() => recording.settle(call.callId))
    this.#ended(call.callId)
    return outcome
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

  /** What is known of the call. A question about something else than what was announced counts alone. */
  #note(asked: CallFacts): SeenCall {
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
    const permit = await host.authorize(call, tool)
    if (permit.kind === "suspend") return (await this.#suspend(call.callId, true)) ? "suspend" : "refuse"
    if (permit.kind === "refuse") return this.#refuse(call, permit.reason, true)
    if (!sameJson(permit.args, call.args)) return this.#refuse(call, UNCHANGEABLE)
    this.#running.add(call.callId)
    return "run"
  }

  /** `isRecorded`: the runtime has recorded the refusal. */
  async #refuse(call: ToolCall, reason: string, isRecorded = false): Promise<"refuse"> {
    const { recording } = this.#parts
    const outcome = denied(reason)
    await recording.enqueue(() =>
      isRecorded ? recording.settle(call.callId) : recording.addResult(call.callId, outcome),
    )
    this.#refusals.push(answerText({ kind: "outcome", call, outcome }))
    return "refuse"
  }

  /** Resolves when the agent was told to stop. False: another call waits already, and this one is refused. */
  async #suspend(callId: string, isOwn: boolean): Promise<boolean> {
    const { recording } = this.#parts
    this.#running.delete(callId)
    if (this.#suspended) {
      await recording.enqueue(() => recording.addResult(callId, denied(HELD)))
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
    recording.addResult(callId, outcome)
  }

  /** A call that the agent should have asked about: its own settings allow it. */
  #warn({ name }: OwnTool): void {
    const { agent, host } = this.#parts
    const applied = agent.enforcement.find(({ tools }) => tools === name || tools === "*")
    if (applied?.gate !== "ours") return
    const message = `${agent.title} ran ${name} without asking: its own settings allow it, so the policy was not applied.`
    host.emit({ type: "warning", code: "call_not_asked", message })
  }

  #oursIn(call: SeenCall, asked?: CallFacts): string | undefined {
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
const STOPPING = "Not run: the run is being stopped."
const WAITS = "Not run yet: a person has to decide first. Stop now."
const UNCHANGEABLE =
  "Not run: the policy allows it only with other arguments, and this agent does not take them. Change the call."
