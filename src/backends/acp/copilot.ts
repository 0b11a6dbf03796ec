import type { JsonObject } from "../../contract/json.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import { type AcpAgent, enforced, nameWithoutKind, tools } from "./agents.ts"
import { kindTools } from "./tools.ts"

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
  confine: (without) => ({
    args: without.flatMap((name) => (copilotTools[name] ?? []).map((tool) => `--excluded-tools=${tool}`)),
  }),
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
  retries: true,
  metering: "turn",
  asks: { mode: "https://agentclientprotocol.com/protocol/session-modes#agent", settings: { allow_all: "off" } },
  // All but the first only if the user trusts the folder, or one above it, in Copilot.
  runsUnasked: [
    ...[".github/hooks", ".mcp.json", ".github/mcp.json", ".github/copilot", ".github/extensions"],
    ...[".claude/settings.json", ".claude/settings.local.json"],
  ],
  countsProcess: true,
  tellsErrors: true,
}

/** Its own names of the tools that the protocol knows by their kinds only. */
const copilotTools: Readonly<Record<string, readonly string[]>> = {
  Bash: ["bash", "read_bash", "write_bash", "stop_bash", "list_bash"],
  Write: ["create"],
  Edit: ["edit", "apply_patch"],
  Read: ["view"],
  Grep: ["grep", "rg", "glob"],
  WebFetch: ["web_fetch"],
}

function editOf(args: JsonObject, wholeText: string): string {
  return typeof args[wholeText] === "string" ? "Write" : "Edit"
}
