import type { Json, JsonObject } from "../../contract/json.ts"
import type { McpServer, McpServers } from "../../contract/mcp.ts"

/** MCP servers for the program's command line, with all their texts in variables: a command line is visible to others. */
export interface ServerConfig {
  readonly servers: JsonObject
  readonly env: Readonly<Record<string, string>>
}

/** The user's servers, and the one with the runtime's tools. */
export function serverConfig(given: McpServers, bridge: Readonly<Record<string, BridgeServer>>): ServerConfig {
  const env: Record<string, string> = {}
  const hidden = (text: string) => {
    const name = `LONGHAUL_MCP_${Object.keys(env).length}`
    env[name] = text
    return `\${${name}}`
  }
  const all: [string, McpServer][] = Object.entries({ ...given, ...bridge })
  return { servers: Object.fromEntries(all.map(([name, server]) => [name, described(server, hidden)])), env }
}

export interface BridgeServer {
  readonly type: "http"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

function described(server: McpServer, hidden: (text: string) => string): Json {
  if ("command" in server) {
    const { command, args = [], env = {} } = server
    return { type: "stdio", command, args: args.map(hidden), env: each(env, hidden) }
  }
  const { type = "http", url, headers = {} } = server
  return { type, url: hidden(url), headers: each(headers, hidden) }
}

function each(texts: Readonly<Record<string, string>>, hidden: (text: string) => string): JsonObject {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, hidden(text)]))
}
