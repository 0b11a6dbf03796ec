import { native } from "./backends/native/index.ts"
import type { RuntimeConfig } from "./contract/run.ts"
import type { Runtime } from "./contract/runtime.ts"
import type { Semaphore } from "./lib/semaphore.ts"
import { assembleRuntime } from "./runtime/runtime.ts"
import { memoryStore } from "./stores/memory.ts"

/** The portable runtime: you pass store, environment, model and backend as values. */
export function createRuntime(config: RuntimeConfig = {}): Runtime {
  return assembled(config)
}

function assembled(config: RuntimeConfig, permits?: Semaphore): Runtime {
  return assembleRuntime(config, { store: memoryStore, backend: native, permits, again: assembled })
}

export type * from "./contract/agents.ts"
export type * from "./contract/artifacts.ts"
export type * from "./contract/backend.ts"
export type * from "./contract/backend-env.ts"
export type * from "./contract/brand.ts"
export type * from "./contract/capabilities.ts"
export type * from "./contract/compaction.ts"
export type * from "./contract/content.ts"
export type * from "./contract/env.ts"
export { BlockedError, type ErrorCode, type Failure, LonghaulError, StartupError } from "./contract/error.ts"
export type * from "./contract/event.ts"
export type * from "./contract/extension.ts"
export type * from "./contract/hooks.ts"
export type * from "./contract/json.ts"
export type * from "./contract/mcp.ts"
export type * from "./contract/message.ts"
export type * from "./contract/model-settings.ts"
export type * from "./contract/observe.ts"
export type * from "./contract/policy.ts"
export type * from "./contract/pricing.ts"
export type * from "./contract/provider.ts"
export type * from "./contract/result.ts"
export type * from "./contract/run.ts"
export type * from "./contract/runtime.ts"
export type * from "./contract/session.ts"
export type * from "./contract/standard-schema.ts"
export type * from "./contract/store.ts"
export {
  type AgentRequest,
  type Answered,
  type Effect,
  type InnerCall,
  type Risk,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolErrorCode,
  type ToolOutcome,
  type ToolSpec,
  type ToolStatus,
} from "./contract/tool.ts"
export type * from "./contract/webhook.ts"
export { estimateFirstTurnInput, type FirstTurnInput } from "./lib/compaction/estimate.ts"
export { type Counts, createMetricsObserver, type MetricsSnapshot } from "./observe/metrics.ts"
export { defineTool, type ToolDefinition } from "./tools/kernel/define-tool.ts"
