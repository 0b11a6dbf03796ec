import { LonghaulError } from "../contract/error.ts"
import type { Json } from "../contract/json.ts"
import type { AlwaysScope, Policy, PolicyCall, PolicyDocument, Ruled, ServiceVerdict } from "../contract/policy.ts"
import type { Risk, UsesOf } from "../contract/tool.ts"
import { newNonce } from "../lib/id.ts"
import { canonicalJson, isJsonObject } from "../lib/json.ts"
import { texts } from "../lib/schema/contract-shapes.ts"
import { checkShape, required, type Shape, shapeOf } from "../lib/schema/shape.ts"
import { sha256 } from "../lib/sha256.ts"
import { askPerson } from "./ask-person.ts"
import { type ActivePolicy, type CallDecision, decideCall, scanOutput } from "./pipeline.ts"
import { type PolicyHost, policies, writtenRules } from "./policies.ts"
import { createRedactor } from "./redact/redactor.ts"
import { notRuled } from "./restrict-environment.ts"
import { refusedNow } from "./rule-decision.ts"
import { showsHidden } from "./search-below.ts"
import type { ToolPolicy, ToolUse, ToolUseOutput } from "./service/tool-use.ts"

export interface ToolPolicyOptions {
  /** The folder that the tools work in. Absolute. */
  readonly workspace: string
  /** Files, and where paths lead: `nodePolicyHost` of `longhaul/node`. Required if a rule is about paths. */
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

/**
 * A policy for tools that other software runs, decided in this process. Throws `config_invalid` for rules that cannot work, among them
 * rules about paths without a host: a link would lead past them.
 */
export function toolPolicy(policy: Policy, options: ToolPolicyOptions): ToolPolicy {
  checkShape<ToolPolicyOptions>("toolPolicy", options, optionsShape)
  const activePolicy = policies(policy, options.host ?? {}, options.tools ?? [])
  // The content of its file is not known yet.
  const mayUsePaths =
    (policy.file !== undefined && options.host?.readFile !== undefined) ||
    writtenRules(policy).some(({ document }) => usesPaths(document))
  if (options.host?.resolvePath === undefined && mayUsePaths) {
    throw new LonghaulError(
      "config_invalid",
      "The policy has rules about paths, and toolPolicy has no host that resolves links.",
      {
        fix: 'Pass host: nodePolicyHost of "longhaul/node". Where there are no links: { resolvePath: async (path) => path }.',
      },
    )
  }
  const local = localPolicy(() => activePolicy([]), options)
  const { listFolder, resolvePath } = options.host ?? {}
  return {
    postTool: local.postTool,
    async preTool(use) {
      const { verdict, ruled = notRuled } = await local.admit(use)
      if (verdict.decision !== "allow") return verdict
      const { rules } = await activePolicy([])
      const call = callOf(verdict.args === undefined ? use : { ...use, toolInput: verdict.args }, options)
      const hidden = await showsHidden(call, rules, ruled, listFolder && { list: listFolder }, resolvePath)
      return hidden === undefined ? verdict : { decision: "deny", reason: `${use.toolName}: ${hidden}.` }
    },
  }
}

const optionsShape: Shape<ToolPolicyOptions> = {
  workspace: required("text"),
  host: shapeOf<PolicyHost>({
    readFile: "function",
    listFolder: "function",
    resolvePath: "function",
    homeFolder: "text",
  }),
  backend: "text",
  sandboxed: "boolean",
  riskOf: "function",
  shown: "function",
  tools: texts,
}

function usesPaths({ rules = [], extends: preset }: PolicyDocument): boolean {
  const matchers = rules.flatMap(({ allow, ask, deny, except }) => [allow, ask, deny, except])
  return preset !== undefined || matchers.some((each) => (each?.path ?? each?.read ?? each?.write) !== undefined)
}

/** The verdict about a call, and what the rules said of it. */
export interface Admission {
  readonly verdict: ServiceVerdict
  readonly ruled?: Ruled | undefined
}

interface LocalPolicyOptions extends ToolPolicyOptions {
  /** The declaration of each tool. Absent: as the built-in tool of that name. */
  readonly usesOf?: (tool: string) => UsesOf | undefined
}

export interface LocalPolicy extends ToolPolicy {
  admit(use: ToolUse): Promise<Admission>
}

/** Nothing can pause here: a question without `onAsk` denies. */
export function localPolicy(activePolicy: () => Promise<ActivePolicy>, options: LocalPolicyOptions): LocalPolicy {
  const riskOf = ({ toolName, toolType }: ToolUse) =>
    options.riskOf?.(toolName) ?? (toolName === "Bash" || toolType === "shell" ? "high" : "medium")
  const shown = options.shown ?? createRedactor({}).shown
  const allowed = new Map<string, AlwaysScope[]>()
  const deny = (reason: string): Admission => ({ verdict: { decision: "deny", reason } })
  const admit = async (use: ToolUse): Promise<Admission> => {
    const policy = await activePolicy()
    const scopes = allowed.get(use.sessionId) ?? []
    const facts = { risk: riskOf(use), allowed: scopes, digest: digestOf(use), mask: (args: Json) => args }
    const call = callOf(use, options)
    const decision = await decideCall(policy, call, facts)
    if (decision.verdict !== "ask") return { verdict: verdictOf(decision, use), ruled: decision.ruled }
    const given = await ask(policy, use, decision, facts.risk, shown)
    if (given.decision === "deny") return deny(given.reason ?? decision.question)
    if (given.decision === "answer") return deny(given.text)
    if (given.decision === "pause") return deny(`${decision.question} Nothing can pause here.`)
    if (given.decision === "always" && decision.always) {
      allowed.set(use.sessionId, [...scopes, decision.always])
    }
    const edited = given.decision === "approve" ? given.args : undefined
    const args = edited ?? decision.args
    const final = await decideCall(policy, { ...call, args }, { ...facts, isApproved: true })
    if (final.verdict === "allow" && facts.digest(final.args) !== facts.digest(args)) {
      return deny("A rule changes the arguments that were approved.")
    }
    // The person answered what was asked before: a link may lead elsewhere by now.
    const { ruled = notRuled } = edited === undefined ? decision : final
    const refused = await refusedNow(policy.rules, { ...call, args: final.args }, ruled)
    return refused === undefined ? { verdict: verdictOf(final, use), ruled } : deny(refused)
  }
  return {
    admit,
    preTool: async (use) => (await admit(use)).verdict,
    async postTool(use, output) {
      const policy = await activePolicy()
      const { blocked } = await scanOutput(policy, callOf(use, options), outputText(output), { digest: digestOf(use) })
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
  const callId = use.toolUseId ?? newNonce()
  const tier = policy.rules.tier(use.toolName) ?? risk
  return askPerson(policy, {
    requestId: newNonce(),
    runId: use.sessionId,
    nodeId: "main",
    callId,
    toolUseId: callId,
    tool: use.toolName,
    toolName: use.toolName,
    args: shown(args),
    argumentsSummary: JSON.stringify(shown(args)),
    tier,
    riskTier: tier,
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

function callOf(use: ToolUse, options: LocalPolicyOptions): PolicyCall {
  const { workspace, backend = "tools", sandboxed = false } = options
  const uses = options.usesOf?.(use.toolName)
  return {
    tool: use.toolName,
    args: use.toolInput,
    ...(uses && { uses }),
    callId: use.toolUseId ?? "",
    runId: use.sessionId,
    cwd: use.cwd ?? workspace,
    workspace: use.workspace ?? workspace,
    backend: use.backend ?? backend,
    ...(use.agent !== undefined && { agent: use.agent }),
    sandboxed,
    ...(use.toolType === "shell" && { isShell: true }),
  }
}

function outputText({ outcome, toolOutput = "", stdout = "", stderr = "", durationMs }: ToolUseOutput) {
  const text = [toolOutput, stdout, stderr].filter((part) => part !== "").join("\n")
  return { outcome, text, ...(durationMs !== undefined && { durationMs }) }
}

function digestOf({ toolName }: ToolUse): (args: Json) => string {
  return (args) => sha256(canonicalJson([toolName, args]))
}
