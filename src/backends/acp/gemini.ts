import type { OwnTool } from "../../contract/capabilities.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import { type AcpAgent, enforced, tools, withoutNative } from "./agents.ts"

const geminiTools: readonly OwnTool[] = [
  ...tools({ Bash: "run_shell_command", Read: "read_file", Write: "write_file", Edit: "replace", Glob: "glob" }),
  ...tools({ Grep: "grep_search", List: "list_directory", WebFetch: "web_fetch", WebSearch: "google_web_search" }),
  ...tools({ TodoWrite: "write_todos", Task: "invoke_agent", Skill: "activate_skill" }),
]

/** Rules that precede those of the user: it asks about each of its known tools, and has none of the removed ones. */
function geminiPolicy(without: readonly string[]): string {
  const rule = (names: readonly string[], decision: string, priority: number) =>
    `[[rule]]\ntoolName = ${JSON.stringify(names)}\ndecision = "${decision}"\npriority = ${priority}\n`
  const removed = withoutNative(geminiTools, without)
  const asked = rule(
    geminiTools.map(({ nativeName }) => nativeName),
    "ask_user",
    500,
  )
  return removed.length === 0 ? asked : `${asked}${rule(removed, "deny", 900)}`
}

export const geminiAgent: AcpAgent = {
  name: "gemini",
  title: "Gemini CLI",
  command: "gemini",
  args: ["--acp", "--approval-mode", "default"],
  install: "npm install -g @google/gemini-cli",
  login: "Run `gemini` and choose a login, or set GEMINI_API_KEY and choose it there.",
  passEnv: [
    ...["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"],
    ...["GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_CLI_HOME"],
    ...["GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"],
  ],
  env: {},
  confine: (without) => ({
    args: ["--admin-policy"],
    file: { name: `${["gemini-policy", ...without].join("-")}.toml`, text: geminiPolicy(without) },
  }),
  defaults: {
    variable: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    // The runtime retries. Gemini CLI reads the file only if it and all its folders belong to root.
    text: JSON.stringify({ general: { maxAttempts: 1, retryFetchErrors: false } }),
    replaces(given) {
      const settings = given("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
      const folders = ["/etc/gemini-cli", "/Library/Application Support/GeminiCli"]
      const named = settings === undefined ? folders : [settings.slice(0, settings.lastIndexOf("/"))]
      return named.map((folder) => `${folder}/system-defaults.json`)
    },
  },
  provider: "google",
  modelArgs: (model) => ["--model", model],
  naming: {
    nativeName: ({ id }) => /^(.+?)__/.exec(id)?.[1],
    isCertain: true,
    serverTool: (server, tool) => [`mcp_${mcpSafe(server)}_${mcpSafe(tool)}`],
    known: geminiTools,
  },
  enforcement: [
    // It shows the command as a title and changes as a difference, never its arguments.
    // Commands that it holds to be safe run unasked, whatever its rules say.
    enforced("Bash", { gate: "vendor", exactArguments: false, ledger: "result" }),
    ...geminiTools.map(({ name }) => enforced(name, { gate: "ours", exactArguments: false })),
    enforced("*", { gate: "vendor", exactArguments: false, ledger: "result" }),
  ],
  reportsCost: false,
  metering: "end",
  asks: { mode: "default" },
  checksArguments: true,
  trust: {
    variable: "GEMINI_CLI_TRUST_WORKSPACE",
    files: [".gemini", ".env"],
    taken: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"],
  },
  loadsNextMinute: true,
}
