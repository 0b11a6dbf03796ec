import { join } from "node:path"
import type { ClaudeOptions } from "../../src/backends/claude/launch.ts"
import type { Backend } from "../../src/contract/backend.ts"
import type { BackendBench } from "../../src/testing/index.ts"
import { openPlace } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

/** A backend that drives the real Claude Code, on a simulated model. */
export function claudeBench(name: string, create: (options: ClaudeOptions) => Backend): BackendBench {
  return {
    name,
    ours: (tool, args) => ({ name: `mcp__longhaul__${tool}`, args }),
    own: {
      tool: "Write",
      call: (file, text) => ({ name: "Write", args: { file_path: file, content: text } }),
      rewrite: (_, text) => ({ "/content": text }),
    },
    open: (options) =>
      openPlace(options, ({ url, home, isLoggedOut }) => ({
        backend: create({
          command: programs.claude,
          env: {
            HOME: home,
            CLAUDE_CONFIG_DIR: join(home, "claude"),
            ANTHROPIC_BASE_URL: url,
            ANTHROPIC_API_KEY: isLoggedOut ? "" : "x",
          },
        }),
        model: "claude-sonnet-4-5",
      })),
  }
}
