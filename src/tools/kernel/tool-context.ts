import type { Environment } from "../../contract/env.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { environmentShape } from "../../lib/schema/contract-shapes.ts"
import { checkShape, type Shape, shapeOf } from "../../lib/schema/shape.ts"
import { runScope } from "../../lib/tenant/run-keys.ts"

export interface ToolContextOptions {
  /** Where relative paths start. Default `/`. */
  readonly cwd?: string
  /** Files, search, shell and network of the tools. Default: none of them. */
  readonly env?: Environment
  readonly signal?: AbortSignal | undefined
  /** Default `default`. */
  readonly workspaceId?: string
  /** Default `none`. */
  readonly runId?: string
  /** Default: a new one, so that the call has an idempotency key of its own. */
  readonly callId?: string
  /** Receives progress of a running tool. */
  readonly onProgress?: ((message: string) => void) | undefined
}

/** The context of one call outside a run, for `Tool.run` and for a dispatcher. What a tool reads is in it, never global. */
export function createToolContext(options: ToolContextOptions = {}): ToolContext {
  checkShape<ToolContextOptions>("createToolContext", options, optionsShape)
  const {
    cwd = "/",
    env = {},
    signal = new AbortController().signal,
    workspaceId = "default",
    runId = "none",
    callId = newNonce(),
    onProgress,
  } = options
  return {
    signal,
    idempotencyKey: callId,
    workspaceId,
    runId,
    runScope: runScope(workspaceId, { runId }),
    callId,
    cwd,
    env,
    progress: onProgress ?? (() => {}),
  }
}

const optionsShape: Shape<ToolContextOptions> = {
  cwd: "text",
  env: shapeOf<Environment>(environmentShape),
  signal: "signal",
  workspaceId: "text",
  runId: "text",
  callId: "text",
  onProgress: "function",
}
