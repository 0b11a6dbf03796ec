export { BlockedError } from "../contract/error.ts"
export type {
  ApprovalDecision,
  ApprovalRequest,
  Policy,
  PolicyDocument,
  PolicyRule,
  PolicyService,
  ServiceVerdict,
} from "../contract/policy.ts"
export { type ToolPolicyOptions, toolPolicy } from "./local.ts"
export type { PolicyHost } from "./policies.ts"
export {
  type EnforcedTool,
  type EnforcementScope,
  PolicyClient,
  type PolicyClientOptions,
  type PolicyCredentials,
  type PolicyEvent,
  type RunToolOptions,
  runTool,
  sendPolicyPreflight,
  serviceOf,
  shouldEnforceTool,
  type ToolPolicy,
  type ToolUse,
  type ToolUseOutput,
} from "./service/index.ts"
export type { AuditRecord } from "./service/server/audit.ts"
export type { PolicyServiceKeys } from "./service/server/callers.ts"
export { type PolicyServerOptions, policyServer } from "./service/server/handler.ts"
