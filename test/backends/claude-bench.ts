import { join } from "node:path"
import type { ClaudeOptions } from "../../src/backends/claude/launch.ts"
import { claudeCli } from "../../src/backends/claude-cli/index.ts"
import { claudeSdk } from "../../src/backends/claude-sdk/index.ts"
import type { Backend } from "../../src/contract/backend.ts"
import type { PlacedBackend } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

/** A backend that drives the real Claude Code, on a simulated model. */
function claude(
  name: string,
  create: (options: ClaudeOptions) => Backend,
  command: string = programs.claude,
): PlacedBackend {
  return {
    name,
    ours: (tool, args) => ({ name: `mcp__longhaul__${tool}`, args }),
    own: {
      tool: "Write",
      call: (file, text) => ({ name: "Write", args: { file_path: file, content: text } }),
      rewrite: (_, text) => ({ "/content": text }),
    },
    configure: ({ url, home, isLoggedOut }) => ({
      backend: create({
        command,
        env: {
          HOME: home,
          CLAUDE_CONFIG_DIR: join(home, "claude"),
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_API_KEY: isLoggedOut ? "" : "x",
        },
      }),
      model: "claude-sonnet-4-5",
    }),
  }
}

const sdk = await import(programs.claudeSdk)

/** `command`: another program than the real one. */
export const placeClaudeCli = (command?: string) => claude("claude-cli", claudeCli, command)
export const placeClaudeSdk = (command?: string) =>
  claude("claude-sdk", (options) => claudeSdk({ ...options, sdk }), command)

export const placedClaudeCli = placeClaudeCli()
export const placedClaudeSdk = placeClaudeSdk()
