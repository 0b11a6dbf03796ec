import type { ToolCall } from "../../contract/backend.ts"
import type { Environment } from "../../contract/env.ts"
import type { HookedCall, HookedRun } from "../../contract/hooks.ts"
import type { Json } from "../../contract/json.ts"
import type { AlwaysScope, AskVia, PolicyCall } from "../../contract/policy.ts"
import type { AskReason } from "../../contract/result.ts"
import type { Tool } from "../../contract/tool.ts"
import { canonicalJson, jsonCopy } from "../../lib/json.ts"
import { noRules } from "../../policy/no-rules.ts"
import * as pipeline from "../../policy/pipeline.ts"
import type { ResolvedConfig } from "../config.ts"
import type { OpenRun } from "../open-run.ts"

/** The decision about one call, with its final arguments. `ask`: a person has to answer the question first. */
export type Verdict =
  | { readonly kind: "allow"; readonly args: Json }
  | { readonly kind: "deny"; readonly reason: string }
  | Question

export interface Question {
  readonly kind: "ask"
  readonly args: Json
  readonly reason: AskReason
  readonly question: string
  readonly via: AskVia
  readonly always?: AlwaysScope
}

/** `isApproved`: a person approved exactly these arguments. `edited`: they replaced the model's. */
export interface DecideOptions {
  readonly isApproved?: boolean
  readonly edited?: boolean
}

/** True if `decide` would allow every call of a tool, whatever its arguments. */
export function allowsAtOnce({ hooks, input, policy }: OpenRun, name: string): boolean {
  const tool = input.dispatcher.tool(name)
  if (hooks.has("gateBeforeTool") || tool?.question !== undefined) return false
  return tool === undefined || pipeline.allowsAtOnce(policy, name, tool.risk)
}

/** Decides whether a call may run: the policy first, then the tool's own question, then the gate. The strictest one decides. */
export async function decide(
  config: ResolvedConfig,
  run: OpenRun,
  call: ToolCall,
  options: DecideOptions = {},
): Promise<Verdict> {
  const tool = run.input.dispatcher.tool(call.name)
  // The dispatcher rejects such a call without running anything.
  if (tool === undefined || call.invalid !== undefined) return { kind: "allow", args: call.args }
  const ruled = await decideByPolicy(config, run, call, tool, options)
  if (ruled.kind === "deny") return ruled
  const question = questionOf(tool, ruled.args)
  if (question !== undefined) return { kind: "ask", args: ruled.args, reason: "input", question, via: "pause" }
  return (await askGate(run, { ...call, args: ruled.args }, options)) ?? ruled
}

/** The environment of a call, without the paths and the redirects that the policy refuses to it. */
export async function environmentFor(
  config: ResolvedConfig,
  run: OpenRun,
  call: ToolCall,
  env: Environment,
): Promise<Environment> {
  const { rules } = run.policy
  if (rules === noRules) return env
  const { restrictEnvironment } = await import("../../policy/restrict-environment.ts")
  return restrictEnvironment(env, rules, policyCall(config, run, call), config.resolvePath)
}

/** Identifies exactly one call with its arguments: a decision is valid for nothing else. */
export function callDigest(config: ResolvedConfig, { name, args }: Pick<ToolCall, "name" | "args">, cwd: string) {
  return config.digest(canonicalJson([name, args, cwd]))
}

/** The call for a hook, which cannot change it. */
export function hookedCall(run: HookedRun, { callId, name, args }: ToolCall): HookedCall {
  return { ...run, callId, name, args: jsonCopy(args) }
}

async function decideByPolicy(
  config: ResolvedConfig,
  run: OpenRun,
  call: ToolCall,
  { risk }: Tool,
  { isApproved = false }: DecideOptions,
): Promise<Verdict> {
  const { policy, journal, projection, input } = run
  if (pipeline.allowsAtOnce(policy, call.name, risk)) return { kind: "allow", args: call.args }
  const digest = digestOf(config, run, call)
  const allowed = [...(input.before?.allowed ?? []), ...projection.allowed]
  const facts = { risk, allowed, isApproved, digest }
  const decision = await pipeline.decideCall(policy, policyCall(config, run, call), facts)
  const { verdict, reasons, args } = decision
  if (reasons.length > 0) {
    const isRewritten = digest(args) !== digest(call.args)
    journal.append({ type: "policy-decision", callId: call.callId, verdict, reasons, ...(isRewritten && { args }) })
  }
  switch (decision.verdict) {
    case "allow":
      return { kind: "allow", args }
    case "deny":
      return { kind: "deny", reason: decision.reason }
    case "ask": {
      const { via, question, always } = decision
      return { kind: "ask", args, reason: "approval", question, via, ...(always && { always }) }
    }
  }
}

/** Undefined: there is no gate, or it allows the call. A gate that fails denies it. */
async function askGate({ hooks }: OpenRun, call: ToolCall, { edited = false, isApproved }: DecideOptions) {
  // A person has approved the gate's own question: only changed arguments pass the gate again.
  if (!hooks.has("gateBeforeTool") || (isApproved && !edited)) return undefined
  const gate = await hooks.call("gateBeforeTool", (hook, run) =>
    hook.gateBeforeTool?.({ ...hookedCall(run, call), edited }),
  )
  if (gate?.allow === true) return undefined
  if (gate?.allow === false) {
    const question = String(gate.reason)
    return { kind: "ask", args: call.args, reason: "approval", question, via: "pause" } satisfies Question
  }
  return { kind: "deny", reason: "the approval gate failed" } satisfies Verdict
}

/** A call as the policy sees it. */
export function policyCall(
  config: ResolvedConfig,
  { key, input }: OpenRun,
  { callId, name, args }: ToolCall,
): PolicyCall {
  return {
    tool: name,
    args,
    callId,
    cwd: input.cwd,
    workspace: config.workspace,
    runId: key.runId,
    backend: config.backend.name,
    sandboxed: config.env.shell?.isSandboxRequired === true,
  }
}

/** Digests of a call with other arguments. */
export function digestOf(config: ResolvedConfig, { input }: OpenRun, { name }: ToolCall) {
  return (args: Json) => callDigest(config, { name, args }, input.recordedCwd)
}

/** Undefined also where `question` throws: the arguments do not fit the tool, and its validation reports that. */
function questionOf(tool: Tool, args: Json): string | undefined {
  try {
    return tool.question?.(args)
  } catch {
    return undefined
  }
}
