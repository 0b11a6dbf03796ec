/** `mcp__<server>__<tool>` as policies write it. `server`: its name, if it is known: it may contain the separator. */
export function policyToolName(toolName: string, server?: string): string {
  const [, prefix = ""] = /^mcp__(.+?)__/.exec(toolName) ?? []
  if (prefix === "") return toolName
  const written = server === undefined ? undefined : mcpSafe(server)
  const start = written !== undefined && toolName.startsWith(`mcp__${written}__`) ? written : prefix
  return `mcp:${start === written ? server : start}/${toolName.slice(`mcp__${start}__`.length)}`
}

/** A name as it appears in `mcp__<server>__<tool>`. */
export function mcpSafe(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_")
}
