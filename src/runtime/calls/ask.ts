import type { ToolCall } from "../../contract/backend.ts"
import type { ApprovalDecision } from "../../contract/policy.ts"
import { newNonce } from "../../lib/id.ts"
import { askPerson } from "../../policy/ask-person.ts"
import type { ResolvedConfig } from "../config.ts"
import { maskedArgs } from "../entry.ts"
import type { OpenRun } from "../open-run.ts"
import { callDigest, type DecideOptions, type Question, seenCall, type Verdict } from "./decide.ts"

/** Decides about a call as it was decided first: by what the runtime knows of its tool. */
export type DecideAgain = (call: ToolCall, options: DecideOptions) => Promise<Verdict>

/**
 * Asks `onAsk` about a call and waits. The question is durable before anyone is asked, and the decision before the call runs.
 * No decision in time, an exception and an unknown decision deny the call.
 */
export async function waitForApproval(
  config: ResolvedConfig,
  run: OpenRun,
  call: ToolCall,
  question: Question,
  decideAgain: DecideAgain,
): Promise<Verdict> {
  const { journal, input } = run
  const asked = approvalRequest(config, run, call, question)
  journal.append({ ...asked, via: "wait" })
  await journal.flush()
  const given = await answerOf(run, { ...call, args: question.args }, question, asked.ticket)
  const verdict = await verdictOf(config, run, call, question, given, decideAgain)
  const { callId } = call
  const args = verdict.kind === "allow" ? verdict.args : question.args
  const digest = callDigest(config, { ...call, args }, input.recordedCwd)
  const isChanged = digest !== asked.digest
  journal.append({
    type: "approval-result",
    callId,
    digest,
    decision: verdict.kind === "allow" ? "approve" : "deny",
    ...(verdict.kind === "deny" && { text: run.redactor.again(verdict.reason) }),
    ...(isChanged && { args }),
    ...(given.decision === "always" && question.always && { always: question.always }),
  })
  await journal.flush()
  return verdict
}

/** The record of a question about a call. `args` are recorded if they are not the model's. */
export function approvalRequest(
  config: ResolvedConfig,
  { input, redactor }: OpenRun,
  call: ToolCall,
  { args, reason, question, always, by }: Omit<Question, "kind" | "via">,
) {
  const digest = callDigest(config, { ...call, args }, input.recordedCwd)
  const isChanged = digest !== callDigest(config, call, input.recordedCwd)
  return {
    type: "approval-request",
    callId: call.callId,
    digest,
    ticket: newNonce(),
    reason,
    question: redactor.again(question),
    ...(isChanged && { args }),
    ...(always && { always }),
    ...(by && { by }),
  } as const
}

/** Changed arguments are decided again: they can be denied, and a rule must not change what the person approved. */
async function verdictOf(
  config: ResolvedConfig,
  run: OpenRun,
  call: ToolCall,
  { args: asked }: Question,
  given: ApprovalDecision,
  decideAgain: DecideAgain,
): Promise<Verdict> {
  if (given.decision === "deny") return { kind: "deny", reason: given.reason ?? "the request was denied" }
  if (given.decision === "always" || given.args === undefined) return { kind: "allow", args: asked }
  // The person saw the inner call.
  const changed = seenCall(run, { ...call, args: asked }).outer(given.args)
  const args = maskedArgs(config, run, call, changed)
  const issues = run.input.dispatcher.tool(call.name) ? await run.input.dispatcher.check(call.name, changed) : []
  if (issues.length > 0) return { kind: "deny", reason: `the changed arguments are invalid: ${issues.join("; ")}` }
  const verdict = await decideAgain({ ...call, args }, { isApproved: true, edited: true })
  if (verdict.kind !== "allow") return verdict.kind === "deny" ? verdict : { kind: "deny", reason: verdict.question }
  const digest = (value: typeof args) => callDigest(config, { ...call, args: value }, run.input.recordedCwd)
  if (digest(verdict.args) === digest(args)) return verdict
  return { kind: "deny", reason: "a rule changes the arguments that were approved" }
}

function answerOf(
  run: OpenRun,
  call: ToolCall,
  { question, always }: Question,
  requestId: string,
): Promise<ApprovalDecision> {
  const { policy, controls, key, target, redactor } = run
  const { name, args, policyName, risk = "high" } = seenCall(run, call)
  const request = {
    requestId,
    runId: key.runId,
    nodeId: key.nodeId,
    ...(key.agent !== undefined && { agent: key.agent }),
    callId: call.callId,
    tool: name,
    args: redactor.shown(args),
    tier: policy.rules.tier(policyName) ?? risk,
    model: target.modelName ?? null,
    question,
    ...(always && { always }),
  }
  return askPerson(policy, request, controls.signal)
}
