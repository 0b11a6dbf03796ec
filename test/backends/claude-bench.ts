import { join } from "node:path"
import type { ClaudeOptions } from "../../src/backends/claude/launch.ts"
import type { Backend } from "../../src/contract/backend.ts"
import type { BackendBench, BackendPlace, PlaceOptions } from "../../src/testing/index.ts"
import { openPlace, type PlaceFacts } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

export interface ClaudePlace extends BackendPlace, PlaceFacts {}

export interface ClaudeBench extends BackendBench {
  /** `command`: another program than the real one. */
  open(options: PlaceOptions & { readonly command?: string }): Promise<ClaudePlace>
}

/** A backend that drives the real Claude Code, on a simulated model. */
export function claudeBench(name: string, create: (options: ClaudeOptions) => Backend): ClaudeBench {
  return {
    name,
    ours: (tool, args) => ({ name: `mcp__longhaul__${tool}`, args }),
    own: {
      tool: "Write",
      call: (file, text) => ({ name: "Write", args: { file_path: file, content: text } }),
      rewrite: (_, text) => ({ "/content": text }),
    },
    async open(options) {
      const { command = programs.claude } = options
      let facts: PlaceFacts | undefined
      const place = await openPlace(options, (given) => {
        facts = given
        return { backend: create({ command, env: environment(given) }), model: "claude-sonnet-4-5" }
      })
      if (facts === undefined) throw new Error("The place has no facts")
      return { ...place, ...facts }
    },
  }
}

function environment({ url, home, isLoggedOut }: PlaceFacts): Record<string, string> {
  return {
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, "claude"),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: isLoggedOut ? "" : "x",
  }
}
