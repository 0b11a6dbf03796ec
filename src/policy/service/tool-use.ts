import type { JsonObject } from "../../contract/json.ts"
import type { ServiceVerdict } from "../../contract/policy.ts"
import { required, type Shape, words } from "../../lib/schema/shape.ts"

/** One use of a tool, as the service sees it. */
export interface ToolUse {
  readonly sessionId: string
  readonly toolName: string
  readonly toolInput: JsonObject
  readonly toolType?: "shell" | "file" | "web" | "mcp" | "function"
  readonly toolUrl?: string
  /** Default: a new id. */
  readonly toolUseId?: string
  readonly generationId?: string
  readonly agent?: string
  readonly backend?: string
  readonly workspace?: string
  readonly cwd?: string
  /** Identifies the call in the answer. Default: of the name and the arguments. */
  readonly digest?: string
}

export interface ToolUseOutput {
  readonly outcome: "ok" | "error"
  readonly toolOutput?: string
  readonly stdout?: string
  readonly stderr?: string
  readonly exitCode?: number
  readonly durationMs?: number
}

/** An event of a session. Lost without an error unless `strict`. `PolicyClient` bounds all texts but the transcript. */
export interface PolicyEvent {
  readonly event: "SessionStart" | "UserPromptSubmit" | "Stop" | "SessionPaused" | "PostToolUseFailure"
  readonly sessionId: string
  readonly prompt?: string
  readonly model?: string
  /** JSON lines. */
  readonly transcript?: string
  readonly toolName?: string
  readonly toolUseId?: string
  readonly error?: string
  readonly stdout?: string
  readonly stderr?: string
  /** The output of a failed tool, where its streams are not separate. */
  readonly output?: string
}

/** A policy for tools that other software runs: a client of a service, or local rules. */
export interface ToolPolicy {
  preTool(use: ToolUse): Promise<ServiceVerdict>
  postTool(use: ToolUse, output: ToolUseOutput): Promise<ServiceVerdict>
  /** Reports an event of the session, if the policy receives events. Rejects only if `strict`. */
  send?(event: PolicyEvent, options?: { readonly strict?: boolean }): Promise<void>
}

export interface RunToolOptions<Output> extends ToolUse {
  /** Runs the tool with the arguments that the policy allowed. */
  readonly execute: (toolInput: JsonObject) => Output | Promise<Output>
}

export const toolUseShape: Shape<ToolUse> = {
  sessionId: required("text"),
  toolName: required("text"),
  toolInput: required("object"),
  toolType: words("shell", "file", "web", "mcp", "function"),
  toolUrl: "text",
  toolUseId: "text",
  generationId: "text",
  agent: "text",
  backend: "text",
  workspace: "text",
  cwd: "text",
  digest: "text",
}
