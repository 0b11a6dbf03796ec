import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { LonghaulError } from "../../../contract/error.ts"
import type { Json } from "../../../contract/json.ts"
import type { McpServers } from "../../../contract/mcp.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { checkedServers } from "../../../lib/mcp-servers.ts"

/**
 * The servers of a file such as `.mcp.json`: `{ "mcpServers": { "<name>": { command, args, env } | { url, headers } } }`.
 * `${NAME}` and `${NAME:-default}` become variables; a server with `disabled: true` is left out. Only read files that you trust: they name programs to start.
 */
export async function readMcpServers(
  path: string,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): Promise<McpServers> {
  const servers = serversIn(path, await readText(path))
  const used = Object.entries(servers).flatMap(([name, server]) => {
    const { disabled, ...settings } = isJsonObject(server) ? server : {}
    if (disabled === true) return []
    if (disabled !== undefined && disabled !== false) throw invalidDisabled(path, name)
    return [[name, isJsonObject(server) ? placed(expand(settings, path, variables), path) : server]]
  })
  // Checked on the next line.
  return checkedServers(Object.fromEntries(used) as McpServers)
}

/** The folder of a program is relative to the file. */
function placed(server: Json, path: string): Json {
  if (!isJsonObject(server) || typeof server.cwd !== "string") return server
  return { ...server, cwd: resolve(dirname(path), server.cwd) }
}

function invalidDisabled(path: string, name: string): LonghaulError {
  return new LonghaulError("config_invalid", `In ${path}, mcpServers.${name}.disabled is neither true nor false.`, {
    fix: "Write true to leave the server out.",
  })
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8")
  } catch (cause) {
    throw new LonghaulError("config_invalid", `The file ${path} cannot be read.`, {
      cause,
      fix: "Name a file with MCP servers, such as .mcp.json.",
    })
  }
}

function serversIn(path: string, text: string): { readonly [name: string]: Json } {
  const value = parsed(path, text)
  const servers = isJsonObject(value) ? value.mcpServers : undefined
  if (isJsonObject(servers)) return servers
  throw new LonghaulError("config_invalid", `${path} has no object "mcpServers".`, {
    fix: 'Write { "mcpServers": { "<name>": { "command": "…" } } }.',
  })
}

function parsed(path: string, text: string): Json {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new LonghaulError("config_invalid", `${path} is not JSON.`, { cause, fix: "Correct the file." })
  }
}

function expand(value: Json, path: string, variables: Readonly<Record<string, string | undefined>>): Json {
  if (typeof value === "string") {
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, other?: string) => {
      const found = variables[name] ?? other
      if (found !== undefined) return found
      throw new LonghaulError("config_invalid", `${path} needs the variable ${name}, which is not set.`, {
        fix: `Set ${name} in the environment.`,
      })
    })
  }
  if (Array.isArray(value)) return value.map((each) => expand(each, path, variables))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, expand(each, path, variables)]))
}
