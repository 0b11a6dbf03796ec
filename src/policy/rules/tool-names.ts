import type { PolicyCall } from "../../contract/policy.ts"
import { memberOf } from "../../lib/access/arguments.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import { matchesText } from "./glob.ts"

/** True if the name of a tool fits a pattern. A permission needs a name with a single meaning. */
export type ToolPattern = (name: string, isPermission?: boolean) => boolean

/**
 * `*` in a server's name stays within it; the name of a server's tool may contain slashes. Other agents write
 * `mcp__server__tool`, for which both forms of a pattern are.
 */
export function compileTool(pattern: string): ToolPattern {
  if (pattern === "*" || pattern === "**") return () => true
  const fits = pattern.includes("*") ? partsMatcher(pattern) : (name: string) => name === pattern
  const wire = wireName(pattern)
  if (wire === undefined) return fits
  // `mcp__server` is all tools of the server.
  const wires = /^mcp__.*[^_]__+[^_]/s.test(wire) ? [wire] : [wire, `${wire}__*`]
  return (name, isPermission = false) => {
    if (fits(name)) return true
    const given = wireName(name)
    if (given === undefined || (isWire(name) === isWire(pattern) && !isWire(name))) return false
    return !(isPermission && isAmbiguous(name)) && wires.some((each) => matchesText(each, given))
  }
}

/** The names of a call for rules: a refusal applies by any of them. */
export function namesOf({ tool, args, isShell }: NamedCall, isPermission: boolean): readonly string[] {
  if (isShell === true && tool !== "Bash") return [tool, "Bash"]
  if (isPermission || !resourceTools.test(tool)) return [tool]
  const server = memberOf(args, "server")
  return [tool, `mcp:${typeof server === "string" ? server : anyServer}/${tool}`]
}

export type NamedCall = Pick<PolicyCall, "tool" | "args" | "isShell">

/** They show what servers have, and are tools of the client. */
const resourceTools = /^(list|read)_?mcp_?resources?(_?templates)?(_?tool)?$/i
/** No server has this name. */
const anyServer = "*"

function partsMatcher(pattern: string): ToolPattern {
  const [server = "", tool] = splitOnce(pattern)
  return (name) => {
    const [givenServer = "", givenTool] = splitOnce(name)
    const isServer = givenServer === `mcp:${anyServer}` ? server.startsWith("mcp:") : matchesText(server, givenServer)
    if (tool === undefined || givenTool === undefined) return tool === givenTool && isServer
    return isServer && matchesText(tool, givenTool)
  }
}

function splitOnce(name: string): readonly string[] {
  const at = name.indexOf("/")
  return at === -1 ? [name] : [name.slice(0, at), name.slice(at + 1)]
}

function isWire(name: string): boolean {
  return name.startsWith("mcp__")
}

/** The name of a server's tool, or a pattern for such names, as other agents write it. */
function wireName(name: string): string | undefined {
  if (isWire(name)) return name
  const [, server, tool] = /^mcp:([^/]+)\/(.+)$/s.exec(name) ?? []
  return server === undefined || tool === undefined ? undefined : `mcp__${safe(server)}__${safe(tool)}`
}

function safe(pattern: string): string {
  return pattern.split("*").map(mcpSafe).join("*")
}

/** The name of the server, or of its tool, contains the separator. */
function isAmbiguous(name: string): boolean {
  return isWire(name) && name.slice("mcp__".length).split(/__/).length > 2
}
