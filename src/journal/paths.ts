import type { RunKey } from "../contract/store.ts"
import { checkedId } from "../lib/id.ts"

/** The folder of a workspace's runs, the same on every store. */
export function projectsPath(workspaceId: string): string {
  return `workspaces/${checkedId("workspaceId", workspaceId)}/.longhaul/projects`
}

/** The index of the workspace's runs: see docs/decisions/0018-keep-index-of-runs-as-cache.md. */
export function indexPath(workspaceId: string): string {
  return `workspaces/${checkedId("workspaceId", workspaceId)}/.longhaul/index`
}

export function nodesPath(workspaceId: string, runId: string): string {
  return `${projectsPath(workspaceId)}/${checkedId("runId", runId)}/nodes`
}

export function runPath(key: RunKey): string {
  const node = `${nodesPath(key.workspaceId, key.runId)}/${checkedId("nodeId", key.nodeId)}`
  if (key.agent === undefined) return node
  return key.agent.split("/").reduce((path, id) => `${path}/${AGENTS}/${checkedId("agent", id)}`, node)
}

/** The folder of the agents that a run or an agent started, each in a folder like that of a run. */
export const AGENTS = "subagents"

/** The key of an agent that this run or agent started. */
export function agentKey(key: RunKey, agentId: string): RunKey {
  return { ...key, agent: key.agent === undefined ? agentId : `${key.agent}/${agentId}` }
}

export function shardName(index: number): string {
  return `${String(index).padStart(6, "0")}.jsonl`
}

/** The shard number in a file name, or -1 for any other file. */
export function shardIndex(name: string): number {
  return /^\d{6,}\.jsonl$/.test(name) ? Number.parseInt(name, 10) : -1
}

export function inboxName(index: number): string {
  return `inbox/${String(index).padStart(6, "0")}.json`
}
