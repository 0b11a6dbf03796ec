import type { Json } from "../contract/json.ts"
import type { AlwaysScope, Policy, PolicyCall, ServiceVerdict } from "../contract/policy.ts"
import type { Risk } from "../contract/tool.ts"
import { newNonce } from "../lib/id.ts"
import { canonicalJson, isJsonObject } from "../lib/json.ts"
import { sha256 } from "../lib/sha256.ts"
import { askPerson } from "./ask-person.ts"
import { type ActivePolicy, type CallDecision, decideCall, scanOutput } from "./pipeline.ts"
import { type PolicyHost, policies } from "./policies.ts"
import { createRedactor } from "./redact/redactor.ts"
import { showsHidden } from "./search-below.ts"
import type { ToolPolicy, ToolUse, ToolUseOutput } from "./service/tool-use.ts"

export interface ToolPolicyOptions {
  /** The folder that the tools work in. Absolute. */
  readonly workspace: string
  /** Files, and where paths lead: `nodePolicyHost` of `longhaul/node`. Default: paths are compared only as written. */
  readonly host?: PolicyHost
  /** The name of the software that runs the tools, for rules with `backend`. Default `tools`. */
  readonly backend?: string
  /** True if commands never run without a sandbox. Default false. */
  readonly sandboxed?: boolean
  /** The risk of each tool. Default: of the built-in tools their own, of others medium. */
  readonly riskOf?: (tool: string) => Risk | undefined
  /** Masks secrets in the arguments that a person sees. Default: known token formats and fields with secret names. */
  readonly shown?: (args: Json) => Json
  /** Names of the tools, to find misspelt ones in rules. */
  readonly tools?: readonly string[]
}

/** A policy for tools that other software runs, decided in this process. */
export function toolPolicy(policy: Policy, options: ToolPolicyOptions): ToolPolicy {
  const activePolicy = policies(policy, options.host ?? {}, options.tools ?? [])
  const local = localPolicy(() => activePolicy([]), options)
  const { listFolder, resolvePath } = options.host ?? {}
  return {
    ...local,
    async preTool(use) {
      const verdict = await local.preTool(use)
      if (verdict.decision !== "allow") return verdict
      const { rules } = await activePolicy([])
      const call = callOf(verdict.args === undefined ? use : { ...use, toolInput: verdict.args }, options)
      const hidden = await showsHidden(call, rules, listFolder && { list: listFolder }, resolvePath)
      return hidden === undefined ? verdict : { decision: "deny", reason: `${use.toolName}: ${hidden}.` }
    },
  }
}

/** Nothing can pause here: a question without `onAsk` denies. */
export function localPolicy(activePolicy: () => Promise<ActivePolicy>, options: ToolPolicyOptions): ToolPolicy {
  const riskOf = (tool: string) => options.riskOf?.(tool) ?? (tool === "Bash" ? "high" : "medium")
  const shown = options.shown ?? createRedactor({}).shown
  const allowed = new Map<string, AlwaysScope[]>()
  return {
    async preTool(use) {
      const policy = await activePolicy()
      const scopes = allowed.get(use.sessionId) ?? []
      const facts = { risk: riskOf(use.toolName), allowed: scopes, digest: digestOf(use), mask: (args: Json) => args }
      const decision = await decideCall(policy, callOf(use, options), facts)
      if (decision.verdict !== "ask") return verdictOf(decision, use)
      const given = await ask(policy, use, decision, facts.risk, shown)
      if (given.decision === "deny") return { decision: "deny", reason: given.reason ?? decision.question }
      if (given.decision === "answer") return { decision: "deny", reason: given.text }
      if (given.decision === "pause")
        return { decision: "deny", reason: `${decision.question} Nothing can pause here.` }
      if (given.decision === "always" && decision.always) {
        allowed.set(use.sessionId, [...scopes, decision.always])
      }
      const args = given.decision === "approve" && given.args !== undefined ? given.args : decision.args
      const final = await decideCall(policy, { ...callOf(use, options), args }, { ...facts, isApproved: true })
      if (final.verdict === "allow" && facts.digest(final.args) !== facts.digest(args)) {
        return { decision: "deny", reason: "A rule changes the arguments that were approved." }
      }
      return verdictOf(final, use)
    },
    async postTool(use, output) {
      const policy = await activePolicy()
      const { blocked } = await scanOutput(policy, callOf(use, options), textOf(output), digestOf(use))
      return blocked ? { decision: "block", reason: blocked.text, ...ruleIn(blocked) } : { decision: "allow" }
    },
  }
}

function ask(
  policy: ActivePolicy,
  use: ToolUse,
  decision: CallDecision & { readonly verdict: "ask" },
  risk: Risk,
  shown: (args: Json) => Json,
) {
  const { question, always, args, via } = decision
  if (via === "pause" && policy.onAsk === undefined) {
    return { decision: "deny", reason: `${question} Nothing can pause here: set policy.onAsk.` } as const
  }
  return askPerson(policy, {
    requestId: newNonce(),
    runId: use.sessionId,
    nodeId: "main",
    callId: use.toolUseId ?? newNonce(),
    tool: use.toolName,
    args: shown(args),
    tier: policy.rules.tier(use.toolName) ?? risk,
    model: null,
    question,
    reason: "approval",
    ...(always && { always }),
  })
}

function verdictOf(decision: CallDecision, { toolInput }: ToolUse): ServiceVerdict {
  if (decision.verdict !== "allow") {
    const reason = decision.verdict === "deny" ? decision.reason : decision.question
    return { decision: "deny", reason, ...ruleIn(decision.reasons[0]) }
  }
  const { args } = decision
  if (canonicalJson(args) === canonicalJson(toolInput)) return { decision: "allow" }
  if (isJsonObject(args)) return { decision: "allow", args }
  return { decision: "deny", reason: "The changed arguments are not an object." }
}

function ruleIn(reason: { readonly rule?: string } | undefined) {
  return reason?.rule === undefined ? {} : { rule: reason.rule }
}

function callOf(use: ToolUse, { workspace, backend = "tools", sandboxed = false }: ToolPolicyOptions): PolicyCall {
  return {
    tool: use.toolName,
    args: use.toolInput,
    callId: use.toolUseId ?? "",
    runId: use.sessionId,
    cwd: use.cwd ?? workspace,
    workspace: use.workspace ?? workspace,
    backend: use.backend ?? backend,
    ...(use.agent !== undefined && { agent: use.agent }),
    sandboxed,
  }
}

function textOf({ outcome, toolOutput = "", stdout = "", stderr = "", durationMs }: ToolUseOutput) {
  const text = [toolOutput, stdout, stderr].filter((part) => part !== "").join("\n")
  return { outcome, text, ...(durationMs !== undefined && { durationMs }) }
}

function digestOf({ toolName }: ToolUse): (args: Json) => string {
  return (args) => sha256(canonicalJson([toolName, args]))
}
