import { LonghaulError } from "../contract/error.ts"
import type { McpServer, McpServers } from "../contract/mcp.ts"
import { shown } from "./known-keys.ts"
import { mcpServersField } from "./schema/contract-shapes.ts"
import { checkArgument, recordOf } from "./schema/shape.ts"
import { isCredential } from "./text/credential.ts"

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
      isCredential(key, value) ? [[`${name}/${key}`, value.replace(/^Bearer /i, "")]] : [],
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

export function checkedServers(servers: McpServers | undefined): McpServers {
  if (servers === undefined) return {}
  checkArgument("mcpServers", servers, recordOf("object"))
  for (const [name, server] of Object.entries(servers)) checkServer(name, server)
  checkArgument("mcpServers", servers, mcpServersField)
  return servers
}

/** Names become part of tool names, so they have to be plain. */
function checkServer(name: string, server: McpServer): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new LonghaulError("config_invalid", `mcpServers has the name ${shown(name)}.`, {
      fix: "Use letters, digits, - and _ only.",
    })
  }
  if ("command" in server && server.cwd !== undefined && !isAbsolute(server.cwd)) {
    throw new LonghaulError("config_invalid", `mcpServers.${name}.cwd is no absolute path: ${shown(server.cwd)}.`, {
      fix: "Pass the whole path of the folder. In a file such as .mcp.json it may be relative to the file.",
    })
  }
  const hasOne = "command" in server !== "url" in server
  if (hasOne) return
  throw new LonghaulError("config_invalid", `mcpServers.${name} needs either a command or a url.`, {
    fix: 'Pass { command, args, env }, or { type: "http", url, headers }.',
  })
}

function isAbsolute(path: unknown): boolean {
  return typeof path !== "string" || /^(?:[A-Za-z]:)?[\\/]/.test(path)
}
