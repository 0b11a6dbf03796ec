import type { Effort } from "./model-settings.ts"
import type { Model } from "./provider.ts"
import type { Limits } from "./result.ts"
import type { Tool } from "./tool.ts"

/**
 * Lets a run start agents for parts of its task, with the tool `Agent`. They share its journal folder, its policy and its
 * limits: turns, tokens and dollars count over all of them.
 */
export interface AgentSettings {
  /** The agents that the model can name. Default: only a general one, with the tools of the agent that starts it. */
  readonly types?: Readonly<Record<string, AgentType>>
  /** How deep agents may start further agents. Default 1: only the run itself starts agents. */
  readonly depth?: number
  /** Agents that work at the same time, in the whole run; further ones wait. Default 4. */
  readonly atOnce?: number
  /** Agents that one run may start, over all its processes. Default 50. */
  readonly total?: number
  /** A call of an agent that a person has to decide about: `pause` (default) pauses the run, `deny` denies the call. */
  readonly gates?: "pause" | "deny"
}

export interface AgentType {
  /** For the model that starts it: what it is good for. */
  readonly description: string
  readonly system: string
  /** Tools, or names of the runtime's. Default: those of the agent that starts it. The run's policy applies in any case. */
  readonly tools?: readonly (Tool | string)[]
  /** Default: the model of the agent that starts it. */
  readonly model?: Model | string
  readonly effort?: Effort
  /** Its own limits, within those of the run. Default: 50 turns. */
  readonly limits?: Partial<Limits>
}

/** The settings of a run in its journal. `disabled`: tools that none of its agents gets. */
export interface RecordedAgents extends Required<Omit<AgentSettings, "types">> {
  readonly disabled?: readonly string[]
}

/** A question about a call of an agent, for which the run pauses. */
export interface AgentQuestion {
  /** The agent's path: its id, after those of the agents above it. */
  readonly agent: string
  /** The agent's own call, and its tool. */
  readonly callId: string
  readonly tool: string
}
