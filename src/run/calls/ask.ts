import type { ToolCall } from "../../contract/backend.ts"
import type { ApprovalDecision } from "../../contract/policy.ts"
import { orAborted } from "../../lib/abort.ts"
import { newNonce } from "../../lib/id.ts"
import { askPerson } from "../../policy/ask-person.ts"
import type { OpenRun } from "../state/open-run.ts"
import { maskedArgs } from "../state/redact-events.ts"
import { type CallVerdict, type DecideAgain, type Question, seenCall } from "./decide.ts"
import { confirm, digestOf } from "./same-call.ts"

/** How a question about a call was decided. `answer`: the result of the call, which does not run. */
export type Waited = CallVerdict | { readonly kind: "answer"; readonly text: string }

/**
 * Asks `onAsk` about a call and waits. The question is durable before anyone is asked, and the decision before the call runs.
 * No decision in time, an exception and an unknown decision deny the call. A question: the callback left it to a pause.
 */
export async function waitForApproval(
  run: OpenRun,
  call: ToolCall,
  question: Question,
  decideAgain: DecideAgain,
): Promise<Waited> {
  const { journal } = run
  const { asked, given } = await askLive(run, call, question)
  if (given.decision === "answer") return recordAnswer(run, call, asked.digest, given.text)
  const isRefused = given.decision === "deny"
  if (given.decision === "pause" || (question.reason === "input" && !isRefused)) return { ...question, via: "pause" }
  const verdict = await verdictOf(run, call, question, given, decideAgain)
  const { callId } = call
  const args = verdict.kind === "allow" ? verdict.args : question.args
  const digest = digestOf(run, { ...call, args })
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

/** Asks `onAsk` the question of a running call. True: the answer is durable. False: the callback left it to a pause. */
export async function waitForAnswer(run: OpenRun, call: ToolCall, question: LiveQuestion): Promise<boolean> {
  const { journal } = run
  const { asked, given } = await askLive(run, call, question)
  const { callId } = call
  switch (given.decision) {
    case "answer":
      await recordAnswer(run, call, asked.digest, given.text)
      return true
    case "pause":
      return false
    case "deny": {
      const text = given.reason === undefined ? {} : { text: maskedText(run, call, given.reason) }
      journal.append({ type: "approval-result", callId, digest: asked.digest, decision: "deny", ...text })
      break
    }
    default:
      if ("args" in given && given.args !== undefined) return false
      journal.append({ type: "approval-result", callId, digest: asked.digest, decision: "approve" })
  }
  await journal.flush()
  return true
}

type LiveQuestion = Omit<Question, "kind" | "via">

async function askLive(run: OpenRun, call: ToolCall, question: LiveQuestion) {
  const asked = approvalRequest(run, call, question)
  run.journal.append({ ...asked, via: "wait" })
  await run.journal.flush()
  return { asked, given: await answerOf(run, { ...call, args: question.args }, question, asked.ticket) }
}

async function recordAnswer(run: OpenRun, call: ToolCall, digest: string, given: string) {
  const text = maskedText(run, call, given)
  run.journal.append({ type: "approval-result", callId: call.callId, digest, decision: "answer", text })
  await run.journal.flush()
  return { kind: "answer", text } as const
}

/** The words of a person enter here: they are recorded with references instead of secrets. */
function maskedText(run: OpenRun, call: ToolCall, text: string): string {
  return String(maskedArgs(run, call, text))
}

/** The record of a question about a call. `args` are recorded if they are not the model's. */
export function approvalRequest(
  run: OpenRun,
  call: ToolCall,
  { args, reason, question, ruled, always, by }: Omit<Question, "kind" | "via">,
) {
  const { redactor } = run
  const digest = digestOf(run, { ...call, args })
  const isChanged = digest !== digestOf(run, call)
  return {
    type: "approval-request",
    callId: call.callId,
    digest,
    ticket: newNonce(),
    reason,
    question: redactor.again(question),
    ...(ruled && { asked: redactor.again(ruled.asked) }),
    ...(isChanged && { args }),
    ...(always && { always }),
    ...(by && { by }),
  } as const
}

/** Changed arguments are decided again: they can be denied, and a rule must not change what the person approved. */
async function verdictOf(
  run: OpenRun,
  call: ToolCall,
  { args: asked, ruled }: Question,
  given: Exclude<ApprovalDecision, { readonly decision: "answer" | "pause" }>,
  decideAgain: DecideAgain,
): Promise<CallVerdict> {
  if (given.decision === "deny") return { kind: "deny", reason: given.reason ?? "the request was denied" }
  if (given.decision === "always" || given.args === undefined) return { kind: "allow", args: asked, ruled }
  // The person saw the inner call.
  const changed = seenCall(run, { ...call, args: asked }).outer(given.args)
  const args = maskedArgs(run, call, changed)
  const { dispatcher } = run.input
  const checked = dispatcher.tool(call.name) ? orAborted(dispatcher.check(call.name, changed), run.controls.signal) : []
  const issues = (await checked) ?? ["the run was stopped before they were checked"]
  if (issues.length > 0) return { kind: "deny", reason: `the changed arguments are invalid: ${issues.join("; ")}` }
  const confirmed = await confirm(run, { ...call, args }, { isApproved: true, edited: true }, decideAgain)
  switch (confirmed.kind) {
    case "holds":
      return { kind: "allow", args, ruled: confirmed.ruled }
    case "changed":
      return { kind: "deny", reason: "a rule changes the arguments that were approved" }
    case "ask":
      return { kind: "deny", reason: confirmed.question }
    case "deny":
      return confirmed
  }
}

function answerOf(
  run: OpenRun,
  call: ToolCall,
  { question, always, reason, by }: LiveQuestion,
  requestId: string,
): Promise<ApprovalDecision> {
  const { policy, controls, key, target, redactor } = run
  const { name, args, policyName, risk = "high" } = seenCall(run, call)
  const shown = redactor.shown(args)
  const tier = policy.rules.tier(policyName) ?? risk
  const request = {
    requestId,
    runId: key.runId,
    nodeId: key.nodeId,
    ...(key.agent !== undefined && { agent: key.agent }),
    callId: call.callId,
    toolUseId: call.callId,
    tool: name,
    toolName: name,
    args: shown,
    argumentsSummary: JSON.stringify(shown),
    tier,
    riskTier: tier,
    model: target.modelName ?? null,
    question,
    reason: reason === "input" ? reason : "approval",
    ...(by && { by }),
    ...(always && { always }),
  } as const
  return askPerson(policy, request, controls.halting)
}
