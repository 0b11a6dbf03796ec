/** The parts of the SDK's types that the hooks use. `test/enforce` proves that the SDK accepts them. */
export interface ClaudeHookInput {
  readonly hook_event_name: string
  readonly session_id: string
  readonly cwd: string
  readonly agent_id?: string
  readonly agent_type?: string
  readonly prompt?: unknown
  readonly tool_name?: string
  readonly tool_input?: unknown
  readonly tool_use_id?: string
  readonly tool_response?: unknown
  readonly tool_calls?: readonly ClaudeToolCall[]
  readonly mcp_server?: ClaudeMcpServer
  readonly error?: unknown
}

export interface ClaudeToolCall {
  readonly tool_name: string
  readonly tool_input: unknown
  readonly tool_use_id: string
  readonly tool_response?: unknown
}

export interface ClaudeMcpServer {
  readonly name: string
}

export type ClaudeHookOutput = {
  continue?: boolean
  stopReason?: string
  hookSpecificOutput?:
    | {
        hookEventName: "PreToolUse"
        permissionDecision: "ask" | "deny"
        permissionDecisionReason?: string
        updatedInput?: Record<string, unknown>
      }
    | { hookEventName: "PostToolUse"; updatedToolOutput: unknown }
}

export type ClaudeHook = (input: ClaudeHookInput) => Promise<ClaudeHookOutput>

export interface ClaudeHookMatcher {
  hooks: ClaudeHook[]
  /** Seconds. */
  timeout: number
  onFailure: "block"
}

export type ClaudePermission =
  | { behavior: "allow"; updatedInput: Record<string, unknown> }
  | { behavior: "deny"; message: string }

export type ClaudeCanUseTool = (
  toolName: string,
  input: Record<string, unknown>,
  options: { readonly toolUseID: string; readonly agentID?: string; readonly mcpServer?: ClaudeMcpServer },
) => Promise<ClaudePermission>
