import type { OpenRequest } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { McpServer } from "../../contract/mcp.ts"
import { isJsonObject } from "../../lib/json.ts"
import { closedSchema, isStrict } from "../../lib/schema/output-schema.ts"
import { withOutputForm } from "../shared/output-form.ts"
import { dynamicTools } from "./translate.ts"

/** A hook that Codex has read, and its hash. It runs only if the hash is declared as trusted. */
export interface HookState {
  readonly key: string
  readonly hash: string
}

/** The variable with the gate's command: so the hook's text, and with it its hash, is the same for every session. */
export const GATE_VARIABLE = "LONGHAUL_GATE"
/** Codex runs the call if a hook fails with anything but 2. So whatever goes wrong must end in 2. */
export const hookCommand = `(eval "\${${GATE_VARIABLE}:-exit 2}") || exit 2`

/** Codex itself asks git about the workspace, which runs filters that the repository's own configuration names. Its commands have git. */
export const withoutGit: Readonly<Record<string, string>> = { GIT_DIR: "/dev/null" }

/** The workspace of a session, and what it may not use. */
export interface Restrictions {
  /** Folders whose own settings are not used. */
  readonly folders: readonly string[]
  readonly withoutTools: readonly string[]
}

/**
 * Settings on the command line. The caller's come first, the last value counts: those below keep every call behind the gate.
 */
export function settingArguments(
  config: JsonObject,
  { folders, withoutTools }: Restrictions,
  trusted: HookState | undefined,
): string[] {
  const hook = { type: "command", command: hookCommand, timeout: HOOK_SECONDS }
  const settings: [string, Json][] = [
    ["check_for_update_on_startup", false],
    // Runs at the provider, so no policy can decide about it.
    ["web_search", "disabled"],
    ...Object.entries(config),
    ...retrySettings(config),
    ["hooks.PreToolUse", [{ matcher: "*", hooks: [hook] }]],
    ["features.hooks", true],
    // Input for a running terminal is not asked about.
    ["features.unified_exec_tty", false],
    // Their calls would not be recorded as calls of this run.
    ["features.multi_agent", false],
    ["features.goals", false],
    ["features.code_mode", false],
    // Otherwise a server's tool could have the name of a tool that is answered with "allow".
    ["features.non_prefixed_mcp_tool_names", false],
    ["features.unbounded_connection_retries", false],
    // Keys and tokens of this process are not for the model's commands.
    ["shell_environment_policy.ignore_default_excludes", false],
    ["shell_environment_policy.exclude", [...excludedVariables(config), ...Object.keys(withoutGit)]],
    ["projects", untrusted(folders)],
    // A patch cannot be removed: the gate refuses it, and the sandbox if no command may write either.
    ...Object.entries(removable).flatMap(([tool, setting]) => (withoutTools.includes(tool) ? [setting] : [])),
  ]
  if (trusted) settings.push(["hooks.state", { [trusted.key]: { trusted_hash: trusted.hash } }])
  return settings.flatMap(([name, value]) => ["-c", `${name}=${toml(value)}`])
}

/**
 * Codex uses the settings in a folder that is trusted, and those can start programs. It also trusts a folder by itself, permanently,
 * when a thread that may write is started there without a setting for it.
 */
function untrusted(folders: readonly string[]): JsonObject {
  return Object.fromEntries(folders.map((folder) => [folder, { trust_level: "untrusted" }]))
}

/** The variables that the caller's settings keep from commands. */
function excludedVariables(config: JsonObject): readonly Json[] {
  const { shell_environment_policy: policy, "shell_environment_policy.exclude": named } = config
  const excluded = named ?? (isJsonObject(policy) ? policy.exclude : undefined)
  return Array.isArray(excluded) ? excluded : []
}

const removable: Readonly<Record<string, [string, Json]>> = {
  Bash: ["features.shell_tool", false],
  Read: ["features.view_image", false],
  WebSearch: ["web_search", "disabled"],
}

/** Parameters of a new thread, and of a resumed one as far as they can change. */
export function threadParameters(request: OpenRequest, sandbox: string): JsonObject {
  const { cwd, model, mcpServers, system, outputSchema, withoutTools } = request
  const isTold = outputSchema !== undefined && strictSchema(outputSchema) === undefined
  const instructions = withOutputForm(system, isTold ? outputSchema : undefined)
  const servers = Object.entries(mcpServers).map(([name, server]) => [
    `mcp_servers.${name}`,
    serverSettings(name, server),
  ])
  return {
    cwd,
    ...(typeof model === "string" && { model }),
    // The second gate: every command and patch is also asked about here.
    approvalPolicy: "untrusted",
    approvalsReviewer: "user",
    sandbox: ["Bash", "ApplyPatch"].every((name) => withoutTools.includes(name)) ? "read-only" : sandbox,
    ...(instructions !== undefined && { developerInstructions: instructions }),
    config: Object.fromEntries(servers),
  }
}

export function newThreadParameters(request: OpenRequest, sandbox: string): JsonObject {
  // Raw events report the usage of each answer at once. A resumed thread does not have them.
  const events = { experimentalRawEvents: true }
  return {
    ...threadParameters(request, sandbox),
    dynamicTools: dynamicTools(request.tools),
    ephemeral: false,
    ...events,
  }
}

/** Parameters of every turn. */
export function turnParameters({ settings, outputSchema }: OpenRequest): JsonObject {
  const effort = settings.effort === "max" ? "xhigh" : settings.effort
  const schema = outputSchema && strictSchema(outputSchema)
  return { ...(effort !== undefined && { effort }), ...(schema && { outputSchema: schema }) }
}

/** Codex always asks its provider to enforce a schema, which works only with strict ones. */
function strictSchema(schema: JsonObject): JsonObject | undefined {
  const closed = closedSchema(schema)
  return isStrict(closed) ? closed : undefined
}

/** The built-in providers cannot be changed. */
function retrySettings({ model_provider: provider, model_providers }: JsonObject): [string, Json][] {
  if (typeof provider !== "string") return []
  const prefix = `model_providers.${provider}`
  const isOwn = isJsonObject(model_providers) && isJsonObject(model_providers[provider])
  return isOwn ? [`${prefix}.request_max_retries`, `${prefix}.stream_max_retries`].map((name) => [name, 0]) : []
}

function serverSettings(name: string, server: McpServer): JsonObject {
  if (!/^[\w-]+$/.test(name)) {
    throw new LonghaulError("config_invalid", `Codex cannot use the name "${name}" for an MCP server.`, {
      fix: "Use letters, digits, - and _ only.",
    })
  }
  // The second gate: Codex asks before each call.
  const asked = { default_tools_approval_mode: "prompt" }
  if ("command" in server) {
    const { command, args = [], env = {} } = server
    return { command, args, env, ...asked }
  }
  if (server.type === "sse") {
    throw new LonghaulError("config_invalid", `Codex cannot use the MCP server "${name}": its type is sse.`, {
      fix: "Use a server with type http.",
    })
  }
  return { url: server.url, http_headers: server.headers ?? {}, ...asked }
}

/** JSON strings, numbers, booleans and lists are TOML. Objects become inline tables. */
function toml(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(",")}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}=${toml(member)}`)
    .join(",")}}`
}

/** Longer than the gate itself waits. */
const HOOK_SECONDS = 3600
