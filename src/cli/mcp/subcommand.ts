import { resolve } from "node:path"
import type { JsonObject } from "../../contract/json.ts"
import type { McpServer } from "../../contract/mcp.ts"
import { ServerConnection } from "../../extensions/mcp/connection.ts"
import type { LoginPage } from "../../extensions/mcp/oauth.ts"
import { backendHost } from "../../hosts/node/backends/environment.ts"
import { readMcpServers } from "../../hosts/node/mcp/config-file.ts"
import { defaultBrand } from "../../lib/brand.ts"
import { closest } from "../../lib/closest.ts"
import { isJsonObject } from "../../lib/json.ts"
import { tenantOf } from "../../lib/tenant/run-keys.ts"
import { type StoreChoice, UsageError } from "../arguments.ts"
import type { Output } from "../output.ts"
import { type OpenStore, openStore } from "../read-store.ts"

/** One subcommand of `mcp` for other MCP servers. It returns the exit code. */
export interface Subcommand {
  run(positionals: readonly string[], values: McpValues, output: Output): Promise<number>
}

export interface McpValues extends StoreChoice {
  readonly port?: string
  readonly "mcp-config"?: string
  readonly json?: boolean
}

const defaultMcpFile = ".mcp.json"

export function configPath(values: McpValues): string {
  return values["mcp-config"] ?? defaultMcpFile
}

interface NamedServer {
  readonly name: string
  readonly server: McpServer
}

/** A server, and the tenant whose runs use it. */
export interface ChosenServer extends NamedServer {
  readonly opened: OpenStore
  /** See `ExtensionRun`. */
  readonly tenant: string
}

export async function chosenServer(
  command: string,
  name: string | undefined,
  values: McpValues,
  output: Output,
): Promise<ChosenServer> {
  const named = await serverNamed(command, name, values)
  const opened = await openStore(values, output)
  return { ...named, opened, tenant: await tenantOf(opened.store, opened.workspaceId) }
}

/** A server of the file, or one at a given address. */
async function serverNamed(command: string, name: string | undefined, values: McpValues): Promise<NamedServer> {
  if (name === undefined) {
    throw new UsageError(`Missing server for mcp ${command}.`, "Name a server of the file, or give its address.")
  }
  if (URL.canParse(name)) return { name: new URL(name).hostname.replace(/[^A-Za-z0-9_-]/g, "_"), server: { url: name } }
  const path = configPath(values)
  const servers = await readMcpServers(path)
  const server = servers[name]
  if (server !== undefined && Object.hasOwn(servers, name)) return { name, server }
  const names = Object.keys(servers)
  const meant = closest(name, names)
  throw new UsageError(
    `${path} has no server ${JSON.stringify(name)}.`,
    meant === undefined ? `Use one of: ${names.join(", ") || "(there are none)"}.` : `Did you mean ${meant}?`,
  )
}

/** Connects to a server with the login of the tenant, and closes the connection afterwards, whatever happens. */
export async function withServer<T>(
  { name, server, tenant }: ChosenServer,
  work: (connection: ServerConnection) => Promise<T>,
  options: { readonly page?: LoginPage; readonly signal?: AbortSignal } = {},
): Promise<T> {
  const { signal = new AbortController().signal, page } = options
  const cwd = resolve(".")
  const host = { ...backendHost({ workspace: cwd, variables: () => process.env }), brand: defaultBrand }
  const place = { tenant, runId: "cli", cwd, signal }
  const connection = new ServerConnection({ name, server, host, ...place, page })
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}

export function noMore(command: string, positionals: readonly string[], most: number): void {
  const extra = positionals[most]
  if (extra === undefined) return
  throw new UsageError(`Unexpected argument for mcp ${command}: ${JSON.stringify(extra)}.`, "Remove it.")
}

/** The arguments of a tool or a prompt. */
export function jsonArgument(what: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch {}
  throw new UsageError(`The arguments of the ${what} are not a JSON object.`, `Quote them: '{"path":"."}'.`)
}
