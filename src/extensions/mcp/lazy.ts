import type { Extension } from "../../contract/extension.ts"
import type { McpServers } from "../../contract/mcp.ts"
import { serverCredentials } from "../../lib/mcp-servers.ts"

/** The servers of `mcpServers`. Loaded with the first run that has one. */
export function mcpServers(servers: McpServers): Extension {
  return {
    name: "mcpServers",
    credentials: () => serverCredentials(servers),
    async open(run) {
      const { mcp } = await import("./index.ts")
      return mcp({ servers }).open(run)
    },
  }
}
