import type { PolicyCall, PolicyService, ServiceOutput } from "../../contract/policy.ts"
import { isJsonObject } from "../../lib/json.ts"
import { toolPolicy } from "../../lib/schema/contract-shapes.ts"
import { checkArgument } from "../../lib/schema/shape.ts"
import type { PolicyClient } from "./client.ts"
import type { ToolUse } from "./tool-use.ts"

export { PolicyClient, sendPolicyPreflight } from "./client.ts"
export type { PolicyCredentials } from "./credentials.ts"
export type { PolicyClientOptions } from "./options.ts"
export { runTool } from "./run-tool.ts"
export { type EnforcedTool, type EnforcementScope, shouldEnforceTool } from "./skip.ts"
export type { PolicyEvent, RunToolOptions, ToolPolicy, ToolUse, ToolUseOutput } from "./tool-use.ts"

/** A policy service as a stage of the runtime's own decisions. */
export function serviceOf(client: PolicyClient): PolicyService {
  checkArgument("client", client, toolPolicy)
  return {
    decide: (call, signal) => client.preTool(useOf(call), signal),
    scan: (call, output, signal) => client.postTool(useOf(call), outputOf(output), signal),
  }
}

type BoundCall = PolicyCall & { readonly digest: string }

function useOf({
  tool,
  args,
  callId,
  runId,
  runScope = runId,
  cwd,
  workspace,
  backend,
  agent,
  digest,
  isShell,
}: BoundCall): ToolUse {
  return {
    sessionId: runScope,
    toolName: tool,
    // Arguments of another form cannot be valid for any tool; the service still sees them.
    toolInput: isJsonObject(args) ? args : { value: args },
    toolUseId: callId,
    cwd,
    workspace,
    backend,
    ...(agent !== undefined && { agent }),
    digest,
    ...(isShell === true && { toolType: "shell" as const }),
  }
}

function outputOf({ outcome, text, durationMs }: ServiceOutput) {
  return { outcome, toolOutput: text, ...(durationMs !== undefined && { durationMs: Math.round(durationMs) }) }
}
