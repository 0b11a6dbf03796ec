import { join } from "node:path"
import type { ClaudeOptions } from "../../src/backends/claude/launch.ts"
import { claudeCli } from "../../src/backends/claude-cli/index.ts"
import { claudeSdk } from "../../src/backends/claude-sdk/index.ts"
import type { Backend } from "../../src/contract/backend.ts"
import type { BackendBench, BackendPlace, PlaceOptions } from "../../src/testing/index.ts"
import { openPlace, type PlacedBackend, type PlaceFacts } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

export interface ClaudePlace extends BackendPlace, PlaceFacts {}

export interface ClaudeBench extends BackendBench {
  /** `command`: another program than the real one. */
  open(options: PlaceOptions & { readonly command?: string }): Promise<ClaudePlace>
}

type Create = (options: ClaudeOptions) => Backend

/** A backend that drives the real Claude Code, on a simulated model. */
function claude(name: string, create: Create): PlacedBackend {
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

const sdk = await import(programs.claudeSdk)
const createSdk: Create = (options) => claudeSdk({ ...options, sdk })

export const placedClaudeCli = claude("claude-cli", claudeCli)
export const placedClaudeSdk = claude("claude-sdk", createSdk)
export const claudeCliBench = claudeBench(placedClaudeCli, claudeCli)
export const claudeSdkBench = claudeBench(placedClaudeSdk, createSdk)

function claudeBench(placed: PlacedBackend, create: Create): ClaudeBench {
  return {
    ...placed,
    async open(options) {
      const { command = programs.claude } = options
      let facts: PlaceFacts | undefined
      const place = await openPlace(options, (given) => {
        facts = given
        return configured(create, command, given)
      })
      if (facts === undefined) throw new Error("The place has no facts")
      return { ...place, ...facts }
    },
  }
}

function configured(create: Create, command: string, { url, home, isLoggedOut }: PlaceFacts) {
  const env = {
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, "claude"),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: isLoggedOut ? "" : "x",
  }
  return { backend: create({ command, env }), model: "claude-sonnet-4-5" }
}
