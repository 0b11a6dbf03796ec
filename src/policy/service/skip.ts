import { textsByName } from "../../lib/schema/contract-shapes.ts"
import { checkArgument, checkShape, having, required } from "../../lib/schema/shape.ts"

/** The part of a tool call that decides whether the service must be asked. */
export interface EnforcedTool {
  readonly toolName: string
  /** The address of the MCP server that runs the tool. */
  readonly toolUrl?: string
}

export interface EnforcementScope {
  /** The address of the policy service. Absent: no tool runs behind its proxy. */
  readonly baseUrl?: string
  /** Names of MCP servers that need no enforcement, with the address of each: a name alone never skips. */
  readonly ignoredMcpServers?: Readonly<Record<string, string>>
}

/**
 * False for tools that run behind the service's own proxy, which enforces the policy itself, and for ignored servers. Only an
 * address skips enforcement: anyone can choose a name.
 */
export function shouldEnforceTool(tool: EnforcedTool, scope: EnforcementScope = {}): boolean {
  // A use of a tool may be passed as it is.
  checkArgument("tool", tool, having({ toolName: required("text"), toolUrl: "text" }))
  checkShape<EnforcementScope>("shouldEnforceTool", scope, { baseUrl: "text", ignoredMcpServers: textsByName })
  const { toolName, toolUrl } = tool
  const { baseUrl, ignoredMcpServers = {} } = scope
  if (toolUrl === undefined || !URL.canParse(toolUrl, baseUrl)) return true
  const url = new URL(toolUrl, baseUrl)
  if (url.username !== "" || url.password !== "") return true
  if (baseUrl !== undefined && url.origin === new URL(baseUrl).origin && isProxyPath(url.pathname)) return false
  return !Object.entries(ignoredMcpServers).some(([name, address]) => {
    const isOfServer = toolName.startsWith(`mcp__${name}__`) || toolName.startsWith(`mcp:${name}/`)
    return isOfServer && URL.canParse(address) && new URL(address).href === url.href
  })
}

/** Exactly a proxy path: encoded separators or further segments could reach something else on the same host. */
function isProxyPath(path: string): boolean {
  return /^\/api\/v1\/proxy\/(?:(?:plugins|skills|agent-account)\/)?[A-Za-z0-9_-]+\/mcp$/.test(path)
}
