import type { OwnTool, ToolEnforcement } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import { kindTools, type SeenCall, type ToolNaming } from "./tools.ts"

/** What has to be known of one agent, beyond the protocol. */
export interface AcpAgent {
  /** The part of the backend's name after `acp:`. */
  readonly name: string
  /** As errors name it. */
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  /** The commands that install it and log in. */
  readonly install: string
  readonly login: string
  /** Variables of the host with its login and its servers. */
  readonly passEnv: readonly string[]
  /** Variables that it needs so that it asks before it acts. They precede those of the user. */
  readonly env: Readonly<Record<string, string>>
  /** The same, for variables that may have a value already. */
  extendEnv?(given: (name: string) => string | undefined): Readonly<Record<string, string>>
  /** Settings that count where the user has none. */
  readonly defaults?: DefaultSettings
  /** Whose models it uses. */
  readonly provider: string
  /** How a model is chosen at the start. Absent: through the protocol. */
  modelArgs?(model: string): readonly string[]
  readonly naming: ToolNaming
  readonly enforcement: readonly ToolEnforcement[]
  readonly reportsCost: boolean
  /** Its counts of tokens are those of its process, not of one prompt. */
  readonly countsProcess?: true
  /** It checks the arguments of MCP tools, and asks about every call that passes. */
  readonly checksArguments?: true
  /** The mode and the settings of a session in which it asks before it acts. */
  readonly asks?: { readonly mode?: string; readonly settings?: Readonly<Record<string, string>> }
  /** Files of a workspace that it runs without a question. They may answer its questions, too. */
  readonly runsUnasked?: readonly string[]
  /** It tells failures of its model as a text of the model. */
  readonly tellsErrors?: true
  /** A session that is opened in the minute of its creation is lost, and damaged. */
  readonly loadsNextMinute?: true
}

/** A file of settings with the lowest precedence, by the variable that names it. */
interface DefaultSettings {
  readonly variable: string
  readonly text: string
  /** Files that it would replace: if there is one, it stays. */
  replaces(given: (name: string) => string | undefined): readonly string[]
}

const traits: Readonly<Record<string, Pick<OwnTool, "effect" | "risk">>> = {
  Bash: { effect: "once", risk: "high" },
  Write: { effect: "repeatable", risk: "medium" },
  Edit: { effect: "once", risk: "medium" },
  ApplyPatch: { effect: "once", risk: "medium" },
}

/** An agent of which only its command is known. It decides itself what it asks about. */
export function unknownAgent(name: string, command: string, args: readonly string[]): AcpAgent {
  return {
    ...{ name, title: name, command, args },
    install: `see the documentation of ${name}`,
    login: `Log in with ${command}.`,
    passEnv: [],
    env: {},
    provider: "any",
    naming: {
      nativeName: nameWithoutKind,
      isCertain: false,
      serverTool: (server, tool) => [`mcp__${server}__${mcpSafe(tool)}`, `${server}-${tool}`, `${server}_${tool}`],
      known: kindTools,
    },
    enforcement: [enforced("*", { gate: "vendor", exactArguments: false, ledger: "result" })],
    reportsCost: false,
  }
}

export const copilotAgent: AcpAgent = {
  name: "copilot",
  title: "Copilot",
  command: "copilot",
  args: ["--acp", "--no-ask-user"],
  install: "npm install -g @github/copilot",
  login: "Run `copilot login`, or set COPILOT_GITHUB_TOKEN.",
  passEnv: [
    ...["COPILOT_HOME", "COPILOT_MODEL", "COPILOT_OFFLINE", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    ...["COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"],
    ...["COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_WIRE_API"],
  ],
  env: { COPILOT_AUTO_UPDATE: "false" },
  provider: "github",
  modelArgs: (model) => ["--model", model],
  naming: {
    nativeName: nameWithoutKind,
    isCertain: false,
    serverTool: (server, tool) => [`${mcpSafe(server)}-${mcpSafe(tool)}`],
    known: [...tools({ Write: "create" }), ...kindTools],
    byArguments: (kind, args) => (kind === "edit" ? editOf(args, "file_text") : undefined),
  },
  enforcement: [
    ...["Bash", "Write", "Edit", "WebFetch"].map((name) => enforced(name, { gate: "ours" })),
    // Not asked about within the workspace.
    enforced("*", { gate: "vendor", ledger: "result" }),
  ],
  reportsCost: false,
  asks: { mode: "https://agentclientprotocol.com/protocol/session-modes#agent", settings: { allow_all: "off" } },
  runsUnasked: [".github/hooks"],
  countsProcess: true,
  tellsErrors: true,
}

/** Each by its name, too: a rule of the user's settings for one tool would precede the rule for all. */
const opencodeAsks: JsonObject = Object.fromEntries(
  [
    ...["*", "bash", "edit", "read", "glob", "grep", "list", "webfetch", "websearch", "task", "skill", "todowrite"],
    ...["external_directory", "lsp", "codesearch"],
  ].map((name) => [name, "ask"]),
)

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
    OPENCODE_PERMISSION: JSON.stringify(opencodeAsks),
  },
  extendEnv: (given) => ({ OPENCODE_CONFIG_CONTENT: opencodeConfig(given("OPENCODE_CONFIG_CONTENT")) }),
  provider: "any",
  naming: {
    nativeName: announcedName,
    isCertain: true,
    serverTool: (server, tool) => [`${mcpSafe(server)}_${mcpSafe(tool)}`],
    known: [
      ...tools({ Bash: "bash", Read: "read", Write: "write", Edit: "edit", Glob: "glob", Grep: "grep" }),
      ...tools({ WebFetch: "webfetch", WebSearch: "websearch", Task: "task", TodoWrite: "todowrite", Skill: "skill" }),
      ...tools({ ApplyPatch: "apply_patch", List: "list" }),
    ],
  },
  enforcement: [
    ...["Bash", "Read", "Write", "Edit"].map((name) => enforced(name, { gate: "ours" })),
    // It asks about tools of MCP servers before it shows their arguments.
    enforced("*", { gate: "ours", exactArguments: false }),
  ],
  reportsCost: true,
  asks: { settings: { mode: "build" } },
  runsUnasked: [".opencode/plugin", ".opencode/plugins"],
}

export const geminiAgent: AcpAgent = {
  name: "gemini",
  title: "Gemini CLI",
  command: "gemini",
  // It connects to MCP servers, such as that with the runtime's tools, in a trusted folder only.
  args: ["--acp", "--skip-trust", "--approval-mode", "default"],
  install: "npm install -g @google/gemini-cli",
  login: "Run `gemini` and choose a login, or set GEMINI_API_KEY and choose it there.",
  passEnv: [
    ...["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"],
    ...["GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_CLI_HOME"],
    ...["GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "GEMINI_CLI_TRUST_WORKSPACE"],
  ],
  env: {},
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
    known: [
      ...tools({ Bash: "run_shell_command", Read: "read_file", Write: "write_file", Edit: "replace", Glob: "glob" }),
      ...tools({ Grep: "grep_search", List: "list_directory", WebFetch: "web_fetch", WebSearch: "google_web_search" }),
      ...tools({ TodoWrite: "write_todos", Task: "invoke_agent", Skill: "activate_skill" }),
    ],
  },
  enforcement: [
    // It shows the command as a title and changes as a difference, never its arguments.
    ...["Bash", "Write", "Edit", "WebFetch"].map((name) => enforced(name, { gate: "ours", exactArguments: false })),
    enforced("*", { gate: "vendor", exactArguments: false, ledger: "result" }),
  ],
  reportsCost: false,
  asks: { mode: "default" },
  checksArguments: true,
  loadsNextMinute: true,
}

/** Known by its documentation only. */
export const cursorAgent: AcpAgent = {
  ...unknownAgent("cursor", "cursor-agent", ["acp"]),
  title: "Cursor",
  install: "curl https://cursor.com/install -fsS | bash",
  login: "Run `cursor-agent login`, or set CURSOR_API_KEY.",
  passEnv: ["CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"],
}

/** A call is announced under the name of its tool; later its title tells what it does. */
function announcedName({ isAnnounced, firstTitle }: SeenCall): string | undefined {
  return isAnnounced ? firstTitle : undefined
}

/** Only tools without a kind are announced under their names. Other titles are the model's description of the call. */
function nameWithoutKind(call: SeenCall): string | undefined {
  return call.kind === "other" ? announcedName(call) : undefined
}

/** The user's settings with the permissions of each agent of opencode, which precede those for all. */
function opencodeConfig(given = "{}"): string {
  const config = parsedConfig(given)
  const agents = isJsonObject(config.agent) ? config.agent : {}
  const asking = ["build", "plan", "general", "explore"].map((name) => {
    const known = agents[name]
    return [name, { ...(isJsonObject(known) && known), permission: opencodeAsks }] as const
  })
  return JSON.stringify({ ...config, agent: { ...agents, ...Object.fromEntries(asking) } })
}

function parsedConfig(text: string): JsonObject {
  try {
    const config: unknown = JSON.parse(text)
    if (isJsonObject(config)) return config
  } catch {
    // Told below.
  }
  throw new LonghaulError("config_invalid", "OPENCODE_CONFIG_CONTENT is not a JSON object.", {
    fix: "Write it as JSON without comments, or use a file and OPENCODE_CONFIG.",
  })
}

function editOf(args: JsonObject, wholeText: string): string {
  return typeof args[wholeText] === "string" ? "Write" : "Edit"
}

function enforced(tools: string, given: Partial<ToolEnforcement>): ToolEnforcement {
  const { gate = "ours", exactArguments = true, ledger = "intent" } = given
  return { tools, gate, rewrite: false, failsClosed: true, exactArguments, ledger }
}

/** The tools of an agent: the name in policies, and its own. */
function tools(names: Readonly<Record<string, string>>): readonly OwnTool[] {
  return Object.entries(names).map(([name, nativeName]) => {
    const { effect, risk } = traits[name] ?? { effect: "none", risk: "low" }
    return { name, nativeName, effect, risk }
  })
}
