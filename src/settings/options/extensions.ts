import type { Backend } from "../../contract/backend.ts"
import type { Capabilities, OwnTool } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Extension, ToolFilter } from "../../contract/extension.ts"
import type { McpProgram, McpRemote, McpServer, McpServers } from "../../contract/mcp.ts"
import type { ChainEntry, RunInput } from "../../contract/run.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"

/** The extensions that a run uses. */
export interface RunExtensions {
  readonly all: readonly Extension[]
  /** Opened again, although the run's journal may have an earlier version of them. */
  readonly anew: readonly Extension[]
  /** The tools of extensions and of the backend that it may use. */
  readonly filter: ToolFilter
}

/** Nothing of its own: an agent has the open extensions of its run. */
export const noExtensions: RunExtensions = { all: [], anew: [], filter: {} }

/** Creates the extension for MCP servers that the runtime connects to. */
export type ServerExtension = (servers: McpServers) => Extension

export function checkedExtensions(known: readonly Extension[] = []): readonly Extension[] {
  const twice = known.find(({ name }, index) => known.findIndex((other) => other.name === name) !== index)
  if (twice === undefined) return known
  throw new LonghaulError("config_invalid", `Two extensions have the name ${twice.name}.`, {
    fix: "Give one of them another name.",
  })
}

/** The extensions of a runtime. */
export function sharedExtensions(extensions: readonly Extension[] | undefined): readonly Extension[] {
  const known = checkedExtensions(extensions)
  const own = known.find(({ perRun }) => perRun)
  if (own === undefined) return known
  throw new LonghaulError("config_invalid", `The extension ${own.name} has settings that are for one run only.`, {
    fix: "Pass it to run() or resume(): extensions: [...]. Folders and headers of knowledge() are such settings.",
  })
}

/** The runtime's extensions and those of a run, which replace others of the same name. */
function mergedExtensions(runtime: readonly Extension[], run: readonly Extension[]): readonly Extension[] {
  return [...runtime.filter(({ name }) => !run.some((own) => own.name === name)), ...run]
}

interface Sources extends Pick<RunInput, "extensions" | "mcpServers"> {
  readonly backend?: Backend | string | undefined
  readonly chain?: readonly ChainEntry[] | undefined
}

/** True if a run gets tools that are not known before it begins: of extensions, of servers, or of a backend itself. */
export function drawsOnMore({ extensions = [], mcpServers = {}, backend, chain }: Sources): boolean {
  const name = typeof backend === "object" ? backend.name : (backend ?? "native")
  const isForeign = name !== "native" || chain !== undefined
  return isForeign || extensions.length > 0 || Object.keys(mcpServers).length > 0
}

export function toolFilter({
  allowedTools,
  disabledTools,
}: Pick<RunInput, "allowedTools" | "disabledTools">): ToolFilter {
  return { ...(allowedTools && { allowed: allowedTools }), ...(disabledTools && { disabled: disabledTools }) }
}

/** True if a run may use a tool of this name. Tools of MCP servers have one name in policies and another for models. */
function mayUse({ allowed, disabled = [] }: ToolFilter, name: string): boolean {
  const [, server = "", tool = ""] = /^mcp:([^/]+)\/(.+)$/s.exec(name) ?? []
  const names = server === "" ? [name] : [name, `mcp__${mcpSafe(server)}__${mcpSafe(tool)}`]
  return (
    !names.some((each) => disabled.includes(each)) &&
    (allowed === undefined || names.some((each) => allowed.includes(each)))
  )
}

/** The same for a tool that a backend runs itself. Its name there disables it, too. */
export function mayUseOwn(filter: ToolFilter, { name, nativeName }: Pick<OwnTool, "name" | "nativeName">): boolean {
  return mayUse(filter, name) && filter.disabled?.includes(nativeName) !== true
}

/** A run can only restrict the tools of its runtime, and an agent those of its run. */
export function narrowed(runtime: ToolFilter, run: ToolFilter): ToolFilter {
  const disabled = [...(runtime.disabled ?? []), ...(run.disabled ?? [])]
  const allowed = runtime.allowed && run.allowed ? both(runtime.allowed, run.allowed) : (run.allowed ?? runtime.allowed)
  return { ...(allowed && { allowed }), ...(disabled.length > 0 && { disabled }) }
}

function both(some: readonly string[], others: readonly string[]): readonly string[] {
  return some.filter((name) => others.includes(name))
}

/** The services of the runtime for the runs that use extensions. */
interface Source {
  readonly extensions: readonly Extension[]
  readonly extensionTools: ToolFilter
  readonly serverExtension?: ServerExtension
}

/**
 * The MCP servers that the backends of a chain connect to themselves, and the extensions of the run: the others are among
 * them. `given`: the caller's.
 */
export function drawnOn(
  source: Source,
  chain: readonly { readonly backend: { readonly capabilities: Capabilities } }[],
  servers: McpServers,
  given: readonly Extension[],
  filter: ToolFilter,
): { readonly mcpServers: McpServers; readonly extensions: RunExtensions } {
  const { serverExtension } = source
  const mayPassOn = chain.every(({ backend }) => backend.capabilities.mcpServers === "own")
  const named = Object.entries(servers)
  const passedOn = named.filter(([, server]) => mayPassOn && isPlain(server))
  const ours = named.filter((each) => !passedOn.includes(each))
  if (ours.length > 0 && !serverExtension) throw noServers()
  const own = ours.length > 0 && serverExtension ? [serverExtension(Object.fromEntries(ours))] : []
  const all = mergedExtensions(mergedExtensions(source.extensions, own), given)
  return {
    mcpServers: Object.fromEntries(passedOn),
    extensions: { all, anew: given, filter: narrowed(source.extensionTools, filter) },
  }
}

/** True if another program can connect to a server as it is described: every other setting is one of our own connection. */
function isPlain(server: McpServer): boolean {
  return Object.entries(server).every(([key, value]) => value === undefined || plainSettings.has(key))
}

const plainSettings: ReadonlySet<string> = new Set<keyof McpProgram | keyof McpRemote>([
  "type",
  "command",
  "args",
  "env",
  "url",
  "headers",
])

/** The client of the protocol is large: a program for a worker has it only if it asks for it. */
function noServers(): LonghaulError {
  return new LonghaulError("config_invalid", "This runtime does not connect to MCP servers by itself.", {
    fix: 'Pass extensions: [mcp({ servers })] with mcp from "longhaul/extensions/mcp", or use createRuntime of "longhaul/node".',
  })
}
