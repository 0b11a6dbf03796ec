import type { Suspended, ToolCall } from "../../contract/backend.ts"
import type { Ruled } from "../../contract/policy.ts"
import type { Answered, ToolOutcome } from "../../contract/tool.ts"
import type { ProjectedCall, ProjectedQuestion } from "../../journal/projected-call.ts"
import { callKey } from "../../lib/tenant/run-keys.ts"
import { asksLive } from "../../policy/pipeline.ts"
import type { OpenRun } from "../state/open-run.ts"
import { waitForAnswer } from "./ask.ts"
import type { Question } from "./decide.ts"
import { denied, notStarted } from "./outcomes.ts"
import { approvalOf, begunArgs, confirm } from "./same-call.ts"

/** The part of a `CallRunner` that a call with a question needs. */
export interface AskedCallRunner {
  /** True if the run pauses for a question. */
  readonly isAsked: boolean
  suspend(call: ToolCall, question: Omit<Question, "kind" | "via">): Suspended
  record(call: ToolCall, outcome: ToolOutcome): ToolOutcome
  execute(
    call: ToolCall,
    options: { readonly begun: boolean; readonly answered: Answered; readonly ruled?: Ruled | undefined },
  ): Promise<ToolOutcome | Suspended>
  /** Resolves to undefined if the run can no longer be recorded. */
  oneAtATime<Value>(work: () => Promise<Value>): Promise<Value | undefined>
}

/**
 * Asks a person the question of a call: through `onAsk`, and then the call continues, or the run pauses. The question is on record.
 * `args`: those that the call runs with. `ruled`: what the rules said when it began, if this process began it.
 */
export async function askForCall(
  run: OpenRun,
  runner: AskedCallRunner,
  call: ToolCall,
  asked: Pick<Question, "args" | "question" | "ruled">,
): Promise<ToolOutcome | Suspended> {
  const question = { ...asked, reason: "input", by: "tool" } as const
  if (!asksLive(run.policy)) return runner.suspend(call, question)
  const open = async () => {
    const mayAsk = !runner.isAsked && !run.controls.stopping && !run.controls.releasing
    if (mayAsk && (await waitForAnswer(run, call, question))) return "answered"
    if (!run.tree.deniesQuestions || run.controls.stopping) return runner.suspend(call, question)
    return runner.record(call, denied(call, `an agent cannot ask a person: ${asked.question}`))
  }
  const end = await runner.oneAtATime(open)
  if (end !== "answered") return end ?? notStarted(call)
  const projected = run.projection.calls.get(call.callId)
  if (projected?.question === undefined) return notStarted(call)
  return continueAsked(run, runner, projected, projected.question, asked.ruled)
}

/**
 * Continues a call that has asked a person: with the answer, under another intent, or it asks again. So far it has had no effect:
 * if it cannot continue, its outcome is known.
 */
export async function continueAsked(
  run: OpenRun,
  runner: AskedCallRunner,
  projected: ProjectedCall,
  question: ProjectedQuestion,
  ruled?: Ruled,
): Promise<ToolOutcome | Suspended> {
  const { callId, name, args, finalArgs = args, intentDigest } = projected
  const call: ToolCall = { callId, name, args }
  const { question: text } = question.record
  const ask = (shown: string) => askForCall(run, runner, call, { args: finalArgs, question: shown, ruled })
  if (question.answer === undefined) return ask(text)
  const isDeclined = question.answer.decision === "deny"
  // The answer is on record: the call continues with it when the run is resumed.
  if (run.controls.stopping) return { status: "suspended" }
  if (isDeclined && !run.input.dispatcher.tool(name)) return runner.record(call, denied(call, question.answer.text))
  const answered = answeredOf(run, callId, question)
  if (answered === "answer-lost") return ask(`${ANSWER_LOST}\n${text}`)
  if (answered === "state-lost") return runner.record(call, denied(call, STATE_LOST))
  const begun = intentDigest === undefined ? finalArgs : begunArgs(run, projected)
  if (begun === undefined) return runner.record(call, denied(call, CHANGED))
  const asked = { ...call, args: begun }
  const confirmed = await confirm(run, asked, approvalOf(run, projected, asked))
  if (confirmed.kind === "deny") return runner.record(call, denied(call, confirmed.reason))
  if (confirmed.kind !== "holds") return runner.record(call, denied(call, CHANGED))
  return runner.execute(asked, { begun: false, answered, ruled: ruled ?? confirmed.ruled })
}

/** The answer with the values of its secrets, as far as this process has them. */
function answeredOf(
  { config: { undeclared }, redactor, key }: OpenRun,
  callId: string,
  { record, answer }: ProjectedQuestion,
): Answered | "answer-lost" | "state-lost" {
  const { decision = "deny", text } = answer ?? {}
  const real = text === undefined ? "" : (redactor.expand(text) ?? undeclared.find(callKey(key, callId), text))
  if (typeof real !== "string") return "answer-lost"
  const state = redactor.expand(record.state ?? null)
  if (state === undefined) return "state-lost"
  return { decision, ...(text !== undefined && { text: real }), state }
}

const ANSWER_LOST = "The last answer contained a secret that only another process had. Please answer again."
const STATE_LOST = "it kept a secret for the answer that this process does not have"
const CHANGED = "its arguments, its working directory or the policy have changed since it asked"
