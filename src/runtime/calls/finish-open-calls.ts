import type { Stop, Suspended, ToolCall } from "../../contract/backend.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import type { ProjectedCall, RunProjection } from "../../journal/projection.ts"
import type { ResolvedConfig } from "../config.ts"
import type { Opening, OpenRun } from "../open-run.ts"
import { decide } from "./decide.ts"
import { CallRunner } from "./run-call.ts"

/**
 * Finishes the open calls of the last answer of a resumed run, so that the model need not repeat them. Returns a stop if the
 * run needs no further model call.
 */
export async function finishOpenCalls(
  config: ResolvedConfig,
  run: OpenRun,
  opening: Opening,
): Promise<Stop | undefined> {
  const { projection, journal, controls } = run
  try {
    if (projection.openCalls.length > 0) {
      const outcomes = await finishCalls(config, run, opening.ownerStopped === true)
      if (outcomes.some(({ status }) => status === "suspended")) return { reason: "suspended" }
    }
    if (projection.stepIsOpen) journal.append({ type: "turn-end", turn: projection.turns })
    if (opening.message !== undefined) journal.append({ type: "steer", text: opening.message })
    // The backend gets the conversation from the journal, so all records must be in it.
    await journal.flush()
    if (projection.messages.at(-1)?.role !== "assistant") return undefined
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

async function finishCalls(
  config: ResolvedConfig,
  run: OpenRun,
  ownerStopped: boolean,
): Promise<(ToolOutcome | Suspended)[]> {
  const runner = new CallRunner(config, run)
  const { openCalls } = run.projection
  for (const { callId } of openCalls) runner.announce(callId)
  return Promise.all(openCalls.map((call) => finishCall(run, runner, call, ownerStopped)))
}

async function finishCall(
  run: OpenRun,
  runner: CallRunner,
  { callId, name, args, intent }: ProjectedCall,
  ownerStopped: boolean,
): Promise<ToolOutcome | Suspended> {
  const call: ToolCall = { callId, name, args }
  const { ask } = run.projection
  const decision = ask?.request.callId === callId ? ask.decision : undefined
  if (decision?.decision === "deny") return runner.record(call, refused(call, decision.text))
  if (decision?.decision === "answer") return runner.record(call, answered(decision.text ?? ""))
  if (decision) return executeApproved(run, runner, call, decision, intent !== undefined)
  if (intent === undefined) return runner.call(call)
  if (intent === "repeatable" && ownerStopped) return runner.execute(call, { begun: true })
  return runner.suspend(call, "unknown_outcome", `The process running ${name} stopped before its outcome was recorded.`)
}

/**
 * An approval is valid for exactly the call that was shown; for any other the person is asked again. Arguments changed by a
 * person pass the gate like any others, and the model is informed of the change.
 */
async function executeApproved(
  run: OpenRun,
  runner: CallRunner,
  call: ToolCall,
  { args: changed, digest }: Decision,
  begun: boolean,
): Promise<ToolOutcome | Suspended> {
  const args = changed ?? run.projection.ask?.request.args
  const edited = args === undefined ? call : { ...call, args }
  if (runner.digestOf(edited) !== digest) return runner.suspend(edited, "approval", STALE, args !== undefined)
  if (args === undefined) return runner.execute(call, { begun })
  if (changed !== undefined) {
    const verdict = await decide(run, edited, true)
    if (verdict.kind === "ask") return runner.suspend(edited, verdict.reason, verdict.question, true)
    if (verdict.kind === "deny") return runner.record(call, refused(call, verdict.reason))
  }
  const note = `Run with arguments that a reviewer changed: ${JSON.stringify(args)}`
  return runner.execute(edited, { begun, note })
}

type Decision = NonNullable<NonNullable<RunProjection["ask"]>["decision"]>

const STALE = "The call is not the one that was approved: its arguments or its working directory have changed."

function refused({ name }: ToolCall, reason: string | undefined): ToolOutcome {
  const text = reason ? `${name} was denied: ${reason}` : `${name} was denied.`
  return { status: "denied", output: [{ type: "text", text }] }
}

function answered(text: string): ToolOutcome {
  return { status: "ok", output: [{ type: "text", text }] }
}
