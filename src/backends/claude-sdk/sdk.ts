import type { Json, JsonObject } from "../../contract/json.ts"

/** The part of `@anthropic-ai/claude-agent-sdk` that is used. */
export interface ClaudeAgentSdk {
  query(parameters: { readonly prompt: AsyncIterable<never>; readonly options: never }): ClaudeQuery
}

export interface ClaudeQuery extends AsyncIterable<unknown> {
  initializationResult(): Promise<unknown>
  interrupt(): Promise<unknown>
  close(): void
  usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET?(options: { skipBehaviors: boolean }): Promise<unknown>
}

/** Options of `query` for a session. */
export interface SessionOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly extraArgs: Readonly<Record<string, string | null>>
  readonly [name: string]: unknown
}

/** Options of `query` by which it asks back. */
export interface HostOptions {
  readonly hooks: {
    readonly PreToolUse: readonly {
      readonly hooks: readonly ((input: JsonObject) => Promise<Json>)[]
      readonly timeout: number
      readonly onFailure: "block"
    }[]
  }
  canUseTool(name: string, input: JsonObject, options: PermissionOptions): Promise<Json>
  spawnClaudeCodeProcess(options: SpawnOptions): unknown
}

export interface PermissionOptions {
  readonly toolUseID: string
  readonly agentID?: string
  readonly mcpServer?: { readonly name: string }
}

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export const INSTALL = "npm install @anthropic-ai/claude-agent-sdk zod"
