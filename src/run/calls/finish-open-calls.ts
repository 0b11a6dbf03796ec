import type { Suspended, ToolCall } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import type { ProjectedCall } from "../../journal/projected-call.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { jsonCopy } from "../../lib/json.ts"
import { resumeOf, unknownOutcomeOf } from "../../tools/kernel/inner-of.ts"
import type { OpenRun } from "../state/open-run.ts"
import type { RunStop } from "../state/stops.ts"
import { continueAsked } from "./continue-asked.ts"
import { answeredRules, answerOf } from "./decide.ts"
import { answeredInstead, denied, notRun, toBeRepeated, unknown } from "./outcomes.ts"
import { CallRunner, changedBy } from "./run-call.ts"
import { approvalOf, begunArgs, confirm, digestOf } from "./same-call.ts"

/**
 * Finishes the open calls of the last answer of a resumed run, so that the model need not repeat them. Returns a stop if the
 * run needs no further model call.
 */
export async function finishOpenCalls(
  run: OpenRun,
  opening: { readonly ownerStopped?: boolean; readonly message?: string },
): Promise<RunStop | undefined> {
  const { projection, journal, controls } = run
  try {
    const stop = await finishCalls(run, opening.ownerStopped === true)
    if (stop) return stop
    await journal.flush()
    // A call that the backend's own session presents again stays open until then.
    const isReplayed = projection.openCalls.length > 0
    if (projection.stepIsOpen && !isReplayed) journal.append({ type: "turn-end", turn: projection.turns })
    if (opening.message !== undefined) journal.append({ type: "steer", text: opening.message })
    // The backend gets the conversation from the journal, so all records must be in it.
    await journal.flush()
    if (isReplayed || projection.messages.at(-1)?.role !== "assistant") return undefined
    const background = run.agents?.background
    if (background?.isPending && projection.lastStep?.stopReason === "end") return await background.waitWithoutSession()
    if (isOver(projection)) return { reason: "done", text: projection.text }
    journal.append({ type: "steer", text: "Go on.", reason: "resume" })
    await journal.flush()
    return undefined
  } catch (error) {
    controls.lose(error)
    return { reason: "interrupted" }
  }
}

/** True if the model had given its final answer when the process died, and only the end of the run is not recorded. */
function isOver({ lastStep, resumedFrom }: RunProjection): boolean {
  return lastStep?.stopReason === "end" && resumedFrom === "running"
}

async function finishCalls(run: OpenRun, ownerStopped: boolean): Promise<RunStop | undefined> {
  const { openCalls } = run.projection
  if (openCalls.length === 0) return undefined
  const runner = new CallRunner(run)
  for (const { callId } of openCalls) runner.announce(callId)
  const outcomes = await Promise.all(
    openCalls.map((call): Promise<ToolOutcome | Suspended | Replayed> | ToolOutcome | Replayed =>
      call.executor === "backend" ? finishOwnCall(run, runner, call) : finishCall(run, runner, call, ownerStopped),
    ),
  )
  const isSuspended = outcomes.some(({ status }) => status === "suspended")
  return isSuspended ? { reason: "suspended", pause: runner.suspension } : undefined
}

/** The call continues in the backend's session. */
interface Replayed {
  readonly status: "replayed"
}

/** Only the backend can run such a call. Without the session that made it, the model has to make it again. */
function finishOwnCall({ projection, left }: OpenRun, runner: CallRunner, call: ProjectedCall): ToolOutcome | Replayed {
  const { ask, resumeBy } = projection
  const decision = ask?.request.callId === call.callId ? ask.decision : undefined
  if (decision?.decision === "deny") return runner.record(call, denied(call, decision.text))
  if (decision?.decision === "answer") return runner.record(call, answeredInstead(call, decision.text ?? ""))
  if (left && (resumeBy === "replay" || resumeBy === "settle")) return { status: "replayed" }
  return runner.record(call, decision ? toBeRepeated(call) : notRun(call))
}

async function finishCall(
  run: OpenRun,
  runner: CallRunner,
  projected: ProjectedCall,
  ownerStopped: boolean,
): Promise<ToolOutcome | Suspended> {
  const { callId, name, args, finalArgs = args, intent, question: own } = projected
  if (own) return continueAsked(run, runner, projected, own)
  const call: ToolCall = { callId, name, args }
  const { ask } = run.projection
  const decision = ask?.request.callId === callId ? ask.decision : undefined
  if (decision?.decision === "deny") return runner.record(call, denied(call, decision.text))
  if (decision?.decision === "answer") return runner.record(call, answerOf(run, call, decision.text ?? ""))
  if (decision) return executeApproved(run, runner, call, decision, intent !== undefined)
  if (intent === undefined) return runner.call(call)
  const tool = run.input.dispatcher.tool(name)
  const resumable = tool !== undefined && resumeOf(tool, finalArgs) !== undefined
  // The policy may have changed between its decision and the intent.
  const begun = begunArgs(run, projected)
  // A service may have lost the key by which it recognised a repetition.
  const isOnceNow = intent === "repeatable" && runner.effectOf({ ...call, args: begun ?? finalArgs }) === "once"
  const mayRepeat = intent === "repeatable" && ownerStopped && !isOnceNow
  if ((resumable || mayRepeat) && begun !== undefined) {
    const outcome = await repeatCall(run, runner, projected, begun)
    if (outcome) return outcome
  }
  const isTold = isOnceNow && (unknownOutcomeOf(tool, finalArgs) ?? run.input.unknownOutcome) !== "pause"
  if (run.tree.deniesQuestions || isTold) return runner.record(call, unknown(call))
  const question = `The process running ${name} stopped before its outcome was recorded.`
  return runner.suspend(call, { args: begun ?? finalArgs, reason: "unknown_outcome", question })
}

/** Runs a started call once more. Undefined: the policy would ask about it now, or run it with other arguments. */
async function repeatCall(
  run: OpenRun,
  runner: CallRunner,
  projected: ProjectedCall,
  args: Json,
): Promise<ToolOutcome | Suspended | undefined> {
  const { callId, name } = projected
  const repeated = { callId, name, args }
  const confirmed = await confirm(run, repeated, approvalOf(run, projected, repeated))
  if (confirmed.kind === "deny") return runner.record(projected, unknown(projected))
  if (confirmed.kind !== "holds") return undefined
  return runner.execute(repeated, { begun: true, resumed: true, ruled: confirmed.ruled })
}

/**
 * An approval is valid for exactly the call that was shown; for any other the person is asked again. The policy decides once
 * more: it may have changed since, and a deny precedes an approval. Arguments changed by a person pass the gate like any
 * others, and the model is informed of the change.
 */
async function executeApproved(
  run: OpenRun,
  runner: CallRunner,
  call: ToolCall,
  { args: changed, digest }: Decision,
  begun: boolean,
): Promise<ToolOutcome | Suspended> {
  const args = jsonCopy(changed ?? run.projection.ask?.request.args ?? call.args)
  const approved = { ...call, args }
  const ask = (shown: Json) => runner.suspend(call, { args: shown, reason: "approval", question: STALE })
  if (digestOf(run, approved) !== digest) return ask(args)
  const confirmed = await confirm(run, approved, { isApproved: true, edited: changed !== undefined })
  // A call that was started before may have had its effect, whatever the policy says now.
  if (confirmed.kind === "deny") return runner.record(call, begun ? unknown(call) : denied(call, confirmed.reason))
  if (confirmed.kind === "ask") return runner.suspend(call, confirmed)
  if (confirmed.kind === "changed") return ask(confirmed.args)
  // Recorded as a new intent, also of a call that was started before: the approval is for this execution only.
  const isChanged = digest !== digestOf(run, call)
  const options = isChanged ? changedBy("a reviewer", args) : { begun: false }
  const ruled = answeredRules(run, confirmed.ruled, changed !== undefined)
  return runner.execute(approved, { ...options, resumed: begun, ruled })
}

type Decision = NonNullable<NonNullable<RunProjection["ask"]>["decision"]>

const STALE = "The call is not the one that was approved: its arguments or its working directory have changed."
