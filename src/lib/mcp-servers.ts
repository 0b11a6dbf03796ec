import type { McpServer, McpServers } from "../contract/mcp.ts"

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

/** Headers and variables of MCP servers by name, as far as they can be secrets. */
export function serverCredentials(servers: McpServers): Readonly<Record<string, string>> {
  const values = Object.entries(servers).flatMap(([name, server]) =>
    valuesOf(server).flatMap(([key, value]) =>
      value.length < SHORTEST_SECRET ? [] : [[`${name}/${key}`, value.replace(/^Bearer /i, "")]],
    ),
  )
  return Object.fromEntries(values)
}

function valuesOf(server: McpServer): readonly (readonly [string, string])[] {
  if ("command" in server) return Object.entries(server.env ?? {})
  const { clientSecret, privateKey } = server.auth ?? {}
  return Object.entries({
    ...server.headers,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(privateKey !== undefined && { privateKey }),
  })
}

const SHORTEST_SECRET = 8
