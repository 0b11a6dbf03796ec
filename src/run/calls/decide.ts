import type { ToolCall } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { Environment } from "../../contract/env.ts"
import type { HookedCall, HookedRun } from "../../contract/hooks.ts"
import type { Json } from "../../contract/json.ts"
import type { AlwaysScope, AskVia, PolicyCall, Ruled } from "../../contract/policy.ts"
import type { AskReason } from "../../contract/result.ts"
import type { Risk, Tool, ToolOutcome, UsesOf } from "../../contract/tool.ts"
import { canonicalJson, jsonCopy } from "../../lib/json.ts"
import { runScope } from "../../lib/tenant/run-keys.ts"
import { outsideWorkspace } from "../../policy/confine-call.ts"
import { noRules } from "../../policy/no-rules.ts"
import * as pipeline from "../../policy/pipeline.ts"
import { notRuled, restrictEnvironment } from "../../policy/restrict-environment.ts"
import { refusedNow as refusedBy } from "../../policy/rule-decision.ts"
import { showsHidden } from "../../policy/search-below.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import { innerOf } from "../../tools/kernel/inner-of.ts"
import type { OpenRun } from "../state/open-run.ts"
import { maskedArgs, realArgs } from "../state/redact-events.ts"
import { answered, answeredInstead } from "./outcomes.ts"

/** The decision about one call, with its final arguments. `ask`: a person has to answer the question first. */
export type CallVerdict =
  | { readonly kind: "allow"; readonly args: Json; readonly ruled?: Ruled | undefined }
  | { readonly kind: "deny"; readonly reason: string }
  | Question

export interface Question {
  readonly kind: "ask"
  readonly args: Json
  readonly reason: AskReason
  readonly question: string
  readonly via: AskVia
  readonly always?: AlwaysScope | undefined
  /** The rules' verdict. Absent: no rule applies to such calls. */
  readonly ruled?: Ruled | undefined
  /** The call itself asks. */
  readonly by?: "tool"
}

/** `isApproved`: a person approved exactly these arguments. `edited`: they replaced the model's. */
export interface DecideOptions {
  readonly isApproved?: boolean
  readonly edited?: boolean
}

/** Decides about a call as it was decided first: by what the runtime knows of its tool. */
export type DecideAgain = (call: ToolCall, options: DecideOptions) => Promise<CallVerdict>

/** True if `decide` would allow every call of a tool, whatever its arguments. */
export function allowsAtOnce({ hooks, input, policy }: OpenRun, name: string): boolean {
  const tool = input.dispatcher.tool(name)
  if (hooks.has("gateBeforeTool") || tool?.question !== undefined || tool?.inner !== undefined) return false
  return tool === undefined || pipeline.allowsAtOnce(policy, tool.policyName ?? name, tool.risk, tool.uses)
}

/** Decides whether a call may run: the policy first, then the tool's own question, then the gate. The strictest one decides. */
export async function decide(run: OpenRun, call: ToolCall, options: DecideOptions = {}): Promise<CallVerdict> {
  const tool = run.input.dispatcher.tool(call.name)
  // The dispatcher rejects such a call without running anything.
  if (tool === undefined || call.invalid !== undefined) return { kind: "allow", args: call.args }
  const ruled = await decideByPolicy(run, call, tool, options)
  if (ruled.kind === "deny") return ruled
  const question = questionOf(tool, ruled.args)
  const via = pipeline.asksLive(run.policy) ? "wait" : "pause"
  if (question !== undefined) return { kind: "ask", args: ruled.args, reason: "input", question, via }
  return (await askGate(run, call, ruled, options)) ?? ruled
}

/** The same for a call that the backend runs itself. */
export async function decideOwn(
  run: OpenRun,
  call: ToolCall,
  tool: OwnTool,
  options: DecideOptions = {},
): Promise<CallVerdict> {
  const ruled = await decideByPolicy(run, call, tool, options, tool)
  if (ruled.kind === "deny") return ruled
  const refused = await refusedOwn(run, { ...call, args: ruled.args }, tool, ruled.ruled)
  if (refused !== undefined) return { kind: "deny", reason: refused }
  return (await askGate(run, call, ruled, options)) ?? ruled
}

/** Why a call that the backend runs itself must not begin: our tools check this where they open files. */
async function refusedOwn(
  run: OpenRun,
  call: ToolCall,
  own: OwnTool,
  ruled: Ruled = notRuled,
): Promise<string | undefined> {
  const { config } = run
  const final = policyCall(run, call, own)
  if (final === undefined) return undefined
  const outside = await outsideWorkspace(final, config.resolvePath)
  return outside ?? showsHidden(final, run.policy.rules, ruled, config.env.files, config.resolvePath)
}

/** The rules' verdict, as far as the person who approved the call was asked. `edited`: about other arguments than these. */
export function answeredRules({ projection }: OpenRun, ruled: Ruled | undefined, edited = false): Ruled | undefined {
  const { asked } = projection.ask?.request ?? {}
  return ruled === undefined || asked === undefined || edited ? ruled : { ...ruled, asked }
}

/**
 * Why a decided call must not begin now: all calls of a step are decided before the first one runs, and a person may take long.
 * Undefined: it may. `own`: the backend runs it.
 */
export async function refusedNow(
  run: OpenRun,
  call: ToolCall,
  ruled: Ruled | undefined,
  own?: OwnTool,
): Promise<string | undefined> {
  if (ruled === undefined || run.policy.rules === noRules) return undefined
  const asked = policyCall(run, call, own)
  const why = asked && (await refusedBy(run.policy.rules, asked, ruled))
  const refused = why ?? (own && (await refusedOwn(run, call, own, ruled)))
  return refused === undefined ? undefined : run.redactor.again(refused)
}

/** The environment of a call, without the paths and the redirects that the policy refuses to it. `call`: with its real arguments. */
export async function environmentFor(
  run: OpenRun,
  call: ToolCall,
  env: Environment,
  ruled: Ruled | undefined,
): Promise<Environment> {
  const { rules } = run.policy
  if (rules === noRules) return env
  return restrictEnvironment(env, rules, realCall(run, call), ruled, run.config.resolvePath)
}

/** Identifies exactly one call with its arguments: a decision is valid for nothing else. */
export function callDigest(config: ResolvedConfig, { name, args, inexact }: IdentifiedCall, cwd: string) {
  // An approval of exact arguments must not apply to a call of which only a summary is known, or the other way round.
  return config.digest(canonicalJson(inexact ? [name, args, cwd, "inexact"] : [name, args, cwd]))
}

export type IdentifiedCall = Pick<ToolCall, "name" | "args" | "inexact">

/** The call for a hook, which cannot change it. */
export function hookedCall(run: HookedRun, { callId, name, args }: ToolCall): HookedCall {
  return { ...run, callId, name, args: jsonCopy(args) }
}

async function decideByPolicy(
  run: OpenRun,
  call: ToolCall,
  { risk }: Pick<Tool, "risk">,
  { isApproved = false }: DecideOptions,
  own?: OwnTool,
): Promise<CallVerdict> {
  const { policy, journal, projection, input, controls } = run
  const seen = seenCall(run, call, own)
  if (pipeline.allowsAtOnce(policy, seen.policyName, seen.risk ?? risk, seen.uses)) {
    return { kind: "allow", args: call.args }
  }
  const asked = policyCall(run, call, own)
  // A call whose secrets this process does not have is not run at all.
  if (asked === undefined) return { kind: "allow", args: call.args }
  const mask = (value: Json) => (value === asked.args ? call.args : maskedArgs(run, call, seen.outer(value)))
  const digest = (value: Json) => callDigest(run.config, { ...call, args: mask(value) }, input.recordedCwd)
  const allowed = [...(input.before?.allowed ?? []), ...projection.allowed]
  const facts = { risk: seen.risk ?? risk, allowed, isApproved, digest, mask, signal: controls.signal }
  const decision = await pipeline.decideCall(policy, asked, facts)
  // The wait was aborted, so no person has decided.
  if (controls.signal.aborted) return { kind: "deny", reason: "the run is being stopped" }
  const { verdict, reasons } = decision
  const isRewritten = decision.args !== asked.args && digest(decision.args) !== digest(asked.args)
  const args = isRewritten ? mask(decision.args) : call.args
  if (reasons.length > 0) {
    const recorded = { callId: call.callId, verdict, reasons: run.redactor.again(reasons) }
    journal.append({ type: "policy-decision", ...recorded, ...(isRewritten && { args }) })
  }
  const { ruled } = decision
  switch (decision.verdict) {
    case "allow":
      return { kind: "allow", args, ruled }
    case "deny":
      return { kind: "deny", reason: run.redactor.again(decision.reason) }
    case "ask": {
      const { via, always } = decision
      const question = run.redactor.again(decision.question)
      return { kind: "ask", args, reason: "approval", question, via, ruled, always }
    }
  }
}

/** Undefined: there is no gate, or it allows the call. A gate that fails denies it. */
async function askGate(
  open: OpenRun,
  given: ToolCall,
  { args, ruled }: Pick<Question, "args" | "ruled">,
  { edited = false, isApproved }: DecideOptions,
) {
  const { hooks } = open
  const call = { ...given, args }
  // A person has approved the gate's own question: only changed arguments pass the gate again.
  if (!hooks.has("gateBeforeTool") || (isApproved && !edited)) return undefined
  const gate = await hooks.call("gateBeforeTool", (hook, run) => {
    const gated = { ...hookedCall(run, shownCall(open, call)), edited }
    return hook.gateBeforeTool?.(gated.name, gated)
  })
  if (gate?.allow === true) return undefined
  if (gate?.allow === false) {
    // Plain JavaScript may omit the reason.
    const question = String(gate.reason ?? `${shownCall(open, call).name} needs approval.`)
    return { kind: "ask", args, reason: "approval", question, via: "pause", ruled } satisfies Question
  }
  return { kind: "deny", reason: "the approval gate failed" } satisfies CallVerdict
}

/** Rules see what would run. Undefined if this process does not have the secrets of the call. */
function policyCall(run: OpenRun, call: ToolCall, own?: OwnTool): PolicyCall | undefined {
  const args = realArgs(run, call)
  return args === undefined ? undefined : realCall(run, { ...call, args }, own)
}

/** The same for a call that has the values of its secrets. */
export function realCall(run: OpenRun, call: ToolCall, own?: OwnTool): PolicyCall {
  const { config, key, input } = run
  const { policyName, args, uses } = seenCall(run, call, own)
  const isForeign = own !== undefined || input.dispatcher.tool(call.name) === undefined
  return {
    tool: policyName,
    args,
    ...(uses && { uses }),
    callId: call.callId,
    cwd: input.cwd,
    workspace: config.workspace,
    runId: key.runId,
    runScope: runScope(run.tenant, key),
    ...(run.tree.level > 0 && { agent: run.tree.name }),
    backend: run.target.backend.name,
    // A tool that the backend runs itself does not use this sandbox.
    sandboxed: !isForeign && config.env.shell?.isSandboxRequired === true,
    hidesRefused: !isForeign && config.env.shell?.hidesRefused === true,
  }
}

/** A call as policies and hooks see it: the inner one, if its tool calls others. */
interface SeenCall {
  readonly name: string
  readonly policyName: string
  readonly args: Json
  /** Undefined for a tool that the backend runs itself. */
  readonly risk: Risk | undefined
  readonly uses: UsesOf | undefined
  /** The arguments of the call with other arguments of the seen one. */
  outer(args: Json): Json
}

/** `own`: the backend runs it itself, whatever tool of that name the runtime has. */
export function seenCall({ input }: OpenRun, { name, args }: IdentifiedCall, own?: OwnTool): SeenCall {
  const tool = own ? undefined : input.dispatcher.tool(name)
  const inner = tool && innerOf(tool, args)
  const seen = inner?.tool ?? tool
  const itself = (changed: Json) => changed
  return {
    name: seen?.name ?? name,
    policyName: seen?.policyName ?? seen?.name ?? name,
    args: inner?.args ?? args,
    risk: seen?.risk,
    uses: seen ? seen.uses : own?.uses,
    outer: inner?.outer ?? itself,
  }
}

/** The same call with the name and the arguments that people and hooks see. */
export function shownCall(run: OpenRun, call: ToolCall): ToolCall {
  const { name, args } = seenCall(run, call)
  return name === call.name ? call : { ...call, name, args }
}

/** The outcome of a call that a person answered instead of deciding about it. */
export function answerOf({ input }: OpenRun, call: ToolCall, text: string): ToolOutcome {
  const tool = input.dispatcher.tool(call.name)
  const isInput = tool !== undefined && questionOf(tool, call.args) !== undefined
  return isInput ? answered(text) : answeredInstead(call, text)
}

/** Undefined also where `question` throws: the arguments do not fit the tool, and its validation reports that. */
function questionOf(tool: Tool, args: Json): string | undefined {
  try {
    const inner = tool.question ? undefined : innerOf(tool, args)
    return inner ? inner.tool.question?.(inner.args) : tool.question?.(args)
  } catch {
    return undefined
  }
}
