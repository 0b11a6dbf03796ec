import type { RunRecord } from "../contract/event.ts"
import type { RunStatus, Usage } from "../contract/result.ts"
import type { AgentRequest } from "../contract/tool.ts"
import { addUsage, noUsage } from "../lib/usage.ts"
import type { ProjectedAsk } from "./projected-call.ts"

/** An agent that a run started, according to the run's journal. The figures are those of its last stop. */
export interface ProjectedAgent {
  readonly agentId: string
  readonly callId: string
  /** The name of its type. */
  readonly name: string
  readonly description: string
  /** `running`: it has not stopped since its last start, as far as this journal knows. */
  readonly status: RunStatus | "running"
  readonly digest: string
  readonly usage: Usage
  readonly turns: number
  readonly spent: { readonly tokens: number; readonly usd: number }
  /** The agents below it. */
  readonly agents: number
}

/** An agent whose call does not wait for it. */
export interface BackgroundAgent {
  readonly agentId: string
  readonly callId: string
  readonly request: AgentRequest
}

/** The agents that a run started, and what people decided about their calls. */
export class AgentFold {
  readonly byId = new Map<string, ProjectedAgent>()
  /** Decisions about a call of an agent, by the call that started the agent: the agent may not have recorded them yet. */
  readonly decisions = new Map<string, Required<ProjectedAsk>>()

  /** Agents in the background whose end the model has not received, by id. */
  readonly background = new Map<string, BackgroundAgent>()

  /** `isCopied`: from the run that was forked. */
  apply(record: RunRecord & { readonly type: "agent-start" | "agent-end" }, isCopied = false): void {
    if (record.type === "agent-start" && record.background) {
      const { agentId, callId, background: request } = record
      this.background.set(agentId, { agentId, callId, request })
    }
    if (isCopied) return
    if (record.type === "agent-start") this.#start(record)
    else this.#end(record)
  }

  /** Keeps the decision of a question until the agent has it. Returns the question if it is still open. */
  decide(ask: ProjectedAsk | undefined): ProjectedAsk | undefined {
    if (ask?.decision === undefined) return ask
    this.decisions.set(ask.request.callId, { request: ask.request, decision: ask.decision })
    return undefined
  }

  #start({ agentId, callId, digest, name, description }: RunRecord & { readonly type: "agent-start" }): void {
    const known = this.byId.get(agentId) ?? { usage: noUsage, turns: 0, spent: { tokens: 0, usd: 0 }, agents: 0 }
    this.byId.set(agentId, { ...known, agentId, callId, digest, name, description, status: "running" })
  }

  #end(record: RunRecord & { readonly type: "agent-end" }): void {
    const { agentId, callId, status, usage, turns, spent, agents } = record
    const { digest = "", name = "", description = "" } = this.byId.get(agentId) ?? {}
    this.byId.set(agentId, { agentId, callId, digest, name, description, status, usage, turns, spent, agents })
  }

  /** True if the call has started an agent in the background whose end the model has not received. */
  isInBackground(callId: string): boolean {
    return Array.from(this.background.values()).some((agent) => agent.callId === callId)
  }

  /** True if the call has started an agent. */
  isFor(callId: string): boolean {
    return Array.from(this.byId.values()).some((agent) => agent.callId === callId)
  }

  /** The usage of all of them. */
  get usage(): Usage {
    return Array.from(this.byId.values(), ({ usage }) => usage).reduce(addUsage, noUsage)
  }

  get turns(): number {
    return Array.from(this.byId.values(), ({ turns }) => turns).reduce((sum, turns) => sum + turns, 0)
  }
}
