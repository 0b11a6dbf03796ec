import { join } from "node:path"
import type { ClaudeOptions } from "../../src/backends/claude/launch.ts"
import { claudeCli } from "../../src/backends/claude-cli/index.ts"
import type { Backend } from "../../src/contract/backend.ts"
import type { PlacedBackend, PlaceFacts } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

export type Create = (options: ClaudeOptions) => Backend

/** A backend that drives the real Claude Code, on a simulated model. */
export function claude(name: string, create: Create): PlacedBackend {
  return {
    name,
    ours: (tool, args) => ({ name: `mcp__longhaul__${tool}`, args }),
    own: {
      tool: "Write",
      call: (file, text) => ({ name: "Write", args: { file_path: file, content: text } }),
      rewrite: (_, text) => ({ "/content": text }),
    },
    speaks: {
      command: (command) => ({ name: "Bash", args: { command } }),
      write: (path, content) => ({ name: "Write", args: { file_path: path, content } }),
      read: (path) => ({ name: "Read", args: { file_path: path } }),
      fetch: (url) => ({ name: "WebFetch", args: { url, prompt: "What is there?" } }),
    },
    configure: (facts) => configured(create, programs.claude, facts),
  }
}

export const placedClaudeCli = claude("claude-cli", claudeCli)

export function configured(create: Create, command: string, { url, home, isLoggedOut }: PlaceFacts) {
  const env = {
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, "claude"),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: isLoggedOut ? "" : "x",
  }
  return { backend: create({ command, env }), model: "claude-sonnet-4-5" }
}
