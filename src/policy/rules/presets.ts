import type { PolicyDocument, PolicyPreset } from "../../contract/policy.ts"
import { attachedReaders, readers } from "./known-tools.ts"

/** Returns only what other calls of the same run returned before. */
const fetchData = "FetchData"

/** Tools of the agent itself: its task list, its questions, its pauses, its earlier results. */
const own: readonly string[] = [
  "AskUser",
  "Sleep",
  fetchData,
  "ToolSearch",
  "TaskCreate",
  "TaskGet",
  "TaskList",
  "TaskUpdate",
]

/** Files that decide what agents, editors, hooks and package managers do. */
export const governing: readonly string[] = [
  "**/.git/**",
  "**/.longhaul/**",
  "**/longhaul.config.*",
  "**/longhaul.policy.*",
  "**/.claude/**",
  "**/.codex/**",
  "**/.cursor/**",
  "**/.gemini/**",
  "**/.vscode/**",
  "**/.idea/**",
  "**/.husky/**",
  "**/.npmrc",
  "**/.mcp.json",
]

const workspaceWrite: PolicyDocument = {
  version: 1,
  default: "ask",
  rules: [
    { allow: { tool: [...own, ...attachedReaders] } },
    { allow: { read: "**" } },
    { allow: { write: "**" } },
    {
      deny: { write: governing },
      reason: "Files that control agents, editors and version control are changed by people.",
    },
    {
      deny: { path: ["**/.env", "**/.env.*", "**/.envrc"] },
      except: { path: ["**/.env.example", "**/.env.sample", "**/.env.template"] },
      reason: "Environment files contain secrets.",
    },
  ],
}

export const presets: Readonly<Record<PolicyPreset | (string & {}), PolicyDocument>> = {
  "read-only": {
    version: 1,
    default: "deny",
    rules: [{ allow: { tool: [...own, ...attachedReaders] } }, { allow: { read: ["**", "/**"] } }],
  },
  "workspace-write": workspaceWrite,
  autonomous: {
    ...workspaceWrite,
    unparsed: "sandboxed",
    rules: [...(workspaceWrite.rules ?? []), { allow: { tool: "Bash", sandboxed: true } }],
  },
  "locked-down": {
    version: 1,
    default: "deny",
    unparsed: "deny",
    rules: [
      { allow: { tool: fetchData } },
      {
        deny: { tool: "*" },
        except: { tool: [...readers, fetchData] },
        reason: "Only readers of named paths are allowed.",
      },
    ],
  },
}
