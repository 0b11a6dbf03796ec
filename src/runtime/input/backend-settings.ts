import { LonghaulError } from "../../contract/error.ts"
import type { McpServer, McpServers } from "../../contract/mcp.ts"
import type { BackendDeadlines, Selection } from "../../contract/run.ts"
import { checkKeys, keys, LARGEST_LIMIT, oneOf, shown, wholeNumber } from "../../lib/known-keys.ts"
import { list } from "./shapes.ts"

const defaultDeadlines: BackendDeadlines = { openMs: 60_000, replyMs: 30_000, stopMs: 3_000, idleMs: 600_000 }

export function resolveDeadlines(given: Partial<BackendDeadlines> | undefined): BackendDeadlines {
  if (given === undefined) return defaultDeadlines
  checkKeys("deadlines", given, deadlineKeys)
  for (const [name, value] of Object.entries(given)) wholeNumber(`deadlines.${name}`, value, LARGEST_LIMIT)
  return { ...defaultDeadlines, ...given }
}

export function checkedSelection(selection: Selection | undefined): Selection {
  if (selection === undefined) return {}
  checkKeys("selection", selection, selectionKeys)
  const { strategy, requires } = selection
  if (strategy !== undefined) oneOf("selection.strategy", strategy, strategies)
  list("selection.requires", requires)
  return selection
}

export function checkedServers(servers: McpServers | undefined): McpServers {
  for (const [name, server] of Object.entries(servers ?? {})) checkServer(name, server)
  return servers ?? {}
}

/** Names become part of tool names, so they have to be plain. */
function checkServer(name: string, server: McpServer): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new LonghaulError("config_invalid", `mcpServers has the name ${shown(name)}.`, {
      fix: "Use letters, digits, - and _ only.",
    })
  }
  const hasOne = typeof server === "object" && server !== null && "command" in server !== "url" in server
  if (hasOne) return
  throw new LonghaulError("config_invalid", `mcpServers.${name} needs either a command or a url.`, {
    fix: 'Pass { command, args, env }, or { type: "http", url, headers }.',
  })
}

const deadlineKeys = keys<BackendDeadlines>()("openMs", "replyMs", "stopMs", "idleMs")
const selectionKeys = keys<Selection>()("strategy", "preferred", "requires")
const strategies = ["capability_match", "cost_optimized", "latency_optimized"] as const
