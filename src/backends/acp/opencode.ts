import type { OwnTool } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import { type AcpAgent, announcedName, enforced, tools, withoutNative } from "./agents.ts"

/** Each by its name, too: a rule of the user's settings for one tool would precede the rule for all. */
const opencodePermission: readonly string[] = [
  ...["*", "bash", "edit", "read", "glob", "grep", "list", "webfetch", "websearch", "task", "skill", "todowrite"],
  ...["external_directory", "lsp", "codesearch"],
]

/** It asks about every call, and has none of the removed tools. One permission is for all tools that write. */
function opencodePermissions(without: readonly string[]): JsonObject {
  const removed = withoutNative(opencodeTools, without).filter((name) => name !== "edit")
  const edits = ["Write", "Edit", "ApplyPatch"].every((name) => without.includes(name)) ? ["edit"] : []
  return {
    ...Object.fromEntries(opencodePermission.map((name) => [name, "ask"])),
    ...Object.fromEntries([...removed, ...edits].map((name) => [name, "deny"])),
  }
}

const opencodeTools: readonly OwnTool[] = [
  ...tools({ Bash: "bash", Read: "read", Write: "write", Edit: "edit", Glob: "glob", Grep: "grep" }),
  ...tools({ WebFetch: "webfetch", WebSearch: "websearch", Task: "task", TodoWrite: "todowrite", Skill: "skill" }),
  ...tools({ ApplyPatch: "apply_patch", List: "list" }),
]

export const opencodeAgent: AcpAgent = {
  name: "opencode",
  title: "opencode",
  command: "opencode",
  args: ["acp"],
  install: "npm install -g opencode-ai",
  login: "Run `opencode auth login`.",
  passEnv: [
    ...["OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_API_KEY"],
    ...["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"],
    ...["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY"],
  ],
  env: {
    // A file of the workspace could turn the questions off.
    OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
  },
  confine(without, given) {
    const permission = opencodePermissions(without)
    const content = opencodeConfig(given("OPENCODE_CONFIG_CONTENT"), permission)
    return { env: { OPENCODE_PERMISSION: JSON.stringify(permission), OPENCODE_CONFIG_CONTENT: content } }
  },
  provider: "any",
  naming: {
    nativeName: announcedName,
    isCertain: true,
    serverTool: (server, tool) => [`${mcpSafe(server)}_${mcpSafe(tool)}`],
    known: opencodeTools,
  },
  enforcement: [
    ...["Bash", "Read", "Write", "Edit"].map((name) => enforced(name, { gate: "ours" })),
    // It asks about tools of MCP servers before it shows their arguments.
    enforced("*", { gate: "ours", exactArguments: false }),
  ],
  reportsCost: true,
  retries: true,
  metering: "end",
  countsLastRequest: true,
  // The name of a tool that is not available, and its explanation for the model.
  rejects: ({ tool, error, ...more }) =>
    typeof tool === "string" && typeof error === "string" && Object.keys(more).every((key) => key === "cwd"),
  asks: { settings: { mode: "build" } },
  runsUnasked: [
    ...[".opencode/plugin", ".opencode/plugins"],
    // It loads the plugins that these name, although it uses nothing else of them.
    ...["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
  ],
}

/** The user's settings with the permissions of each agent of opencode, which precede those for all. */
function opencodeConfig(given = "{}", permission: JsonObject): string {
  const config = parsedConfig(given)
  const agents = isJsonObject(config.agent) ? config.agent : {}
  const asking = ["build", "plan", "general", "explore"].map((name) => {
    const known = agents[name]
    return [name, { ...(isJsonObject(known) && known), permission }] as const
  })
  return JSON.stringify({ ...config, agent: { ...agents, ...Object.fromEntries(asking) } })
}

function parsedConfig(text: string): JsonObject {
  try {
    const config: unknown = JSON.parse(text)
    if (isJsonObject(config)) return config
  } catch {
    // Reported below.
  }
  throw new LonghaulError("config_invalid", "OPENCODE_CONFIG_CONTENT is not a JSON object.", {
    fix: "Write it as JSON without comments, or use a file and OPENCODE_CONFIG.",
  })
}
