import type { RunKey } from "../../contract/store.ts"
import { agentKey } from "../../journal/paths.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { isId } from "../../lib/id.ts"
import { inspectRun } from "../../runs/read-runs.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import { AGENT } from "../../settings/tools/agent-tools.ts"

/** The spending of the agents below a run, and their number. */
export interface AgentsBelow {
  readonly tokens: number
  readonly usd: number
  readonly turns: number
  readonly agents: number
}

/**
 * The totals of the agents below a run: of those that have ended from the run's journal, of the others from their own. An agent
 * that a call may have started counts, because a process that died may not have recorded its start.
 */
export async function agentsBelow(config: ResolvedConfig, key: RunKey, run: RunProjection): Promise<AgentsBelow> {
  let sum = none
  const open = new Set<string>()
  for (const { agentId, status, spent, turns, agents } of run.agents.byId.values()) {
    if (isOver(status)) sum = plus(sum, { ...spent, turns, agents: agents + 1 })
    else open.add(agentId)
  }
  for (const { name, intent, callId } of run.openCalls) {
    if (name === AGENT && intent !== undefined) open.add(agentIdOf(config, callId))
  }
  for (const agentId of open) sum = plus(sum, await totalsOf(config, agentKey(key, agentId)))
  return sum
}

async function totalsOf(config: ResolvedConfig, key: RunKey): Promise<AgentsBelow> {
  const projection = (await inspectRun(config, key))?.projection
  if (projection === undefined) return { ...none, agents: 1 }
  const { spent, turns } = projection
  // Its owner is dead or will be fenced: the turn under way is lost.
  spent.lose()
  const own = { tokens: spent.tokens, usd: spent.usd, turns, agents: 1 }
  return plus(own, await agentsBelow(config, key, projection))
}

/** The same totals of an agent that has stopped, from its own journal alone. */
export function totalsBelow({ agents }: RunProjection): AgentsBelow {
  return Array.from(agents.byId.values()).reduce(
    (sum, { spent, turns, agents: below }) => plus(sum, { ...spent, turns, agents: below + 1 }),
    none,
  )
}

export function isOver(status: RunProjection["status"]): boolean {
  return status === "done" || status === "failed" || status === "cancelled"
}

/** The id of the agent that a call starts: every process finds it without a list. Ids of vendors may not be valid names. */
export function agentIdOf({ digest }: Pick<ResolvedConfig, "digest">, callId: string): string {
  if (/^\d{1,9}\.\d{1,9}$/.test(callId)) return callId.replace(".", "-")
  // No call of the native backend has such an id.
  return isId(`c_${callId}`) ? `c_${callId}` : `d_${digest(callId).slice(0, 32)}`
}

function plus(left: AgentsBelow, right: AgentsBelow): AgentsBelow {
  return {
    tokens: left.tokens + right.tokens,
    usd: left.usd + right.usd,
    turns: left.turns + right.turns,
    agents: left.agents + right.agents,
  }
}

export const none: AgentsBelow = { tokens: 0, usd: 0, turns: 0, agents: 0 }
