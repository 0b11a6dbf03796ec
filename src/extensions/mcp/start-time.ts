import type { McpServer } from "../../contract/mcp.ts"

/** How long a server may take to start. */
export function startMs(server: McpServer): number {
  const [, program = ""] = ("command" in server && /([^\\/]+?)(?:\.(?:cmd|exe))?$/i.exec(server.command)) || []
  return INSTALLERS.includes(program.toLowerCase()) ? INSTALL_MS : START_MS
}

const START_MS = 60_000
/** For commands that may have to install it first: an installation that is ended half-way can stay broken. */
const INSTALL_MS = 600_000
const INSTALLERS = ["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "docker", "podman"]
