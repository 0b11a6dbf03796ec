import type { Stop, Suspended, ToolCall } from "../../contract/backend.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import type { ProjectedCall, RunProjection } from "../../journal/projection.ts"
import type { ResolvedConfig } from "../config.ts"
import type { Opening, OpenRun } from "../open-run.ts"
import { CallSettler, judge } from "./settle-call.ts"

/**
 * Before a run goes on: what its last answer left open is settled from the journal, so that the model need not repeat
 * it. Answers how the run ends, where nothing is left to ask the model.
 */
export async function settleOpen(config: ResolvedConfig, run: OpenRun, opening: Opening): Promise<Stop | undefined> {
  const { projection, journal, controls } = run
  try {
    if (projection.openCalls.length > 0) {
      const outcomes = await settleCalls(config, run, opening.gone === true)
      if (outcomes.some(({ status }) => status === "suspended")) return { reason: "suspended" }
    }
    if (projection.stepIsOpen) journal.append({ type: "turn-end", turn: projection.turns })
    if (opening.says !== undefined) journal.append({ type: "steer", text: opening.says })
    // The backend is handed the conversation as the journal has it.
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

/** The model had said its last word when the process died, and only the end is not on record. */
function isOver({ lastStep, resumedFrom }: RunProjection): boolean {
  return lastStep?.stopReason === "end" && resumedFrom === "running"
}

async function settleCalls(config: ResolvedConfig, run: OpenRun, gone: boolean): Promise<(ToolOutcome | Suspended)[]> {
  const settler = new CallSettler(config, run)
  const { openCalls } = run.projection
  for (const { callId } of openCalls) settler.announce(callId)
  return Promise.all(openCalls.map((call) => settleOne(run, settler, call, gone)))
}

async function settleOne(
  run: OpenRun,
  settler: CallSettler,
  { callId, name, args, intent }: ProjectedCall,
  gone: boolean,
): Promise<ToolOutcome | Suspended> {
  const call: ToolCall = { callId, name, args }
  const { ask } = run.projection
  const decision = ask?.request.callId === callId ? ask.decision : undefined
  if (decision?.decision === "deny") return settler.record(call, refused(call, decision.text))
  if (decision?.decision === "answer") return settler.record(call, answered(decision.text ?? ""))
  if (decision) return settleApproved(run, settler, call, decision, intent !== undefined)
  if (intent === undefined) return settler.call(call)
  if (intent === "repeatable" && gone) return settler.approved(call, { begun: true })
  return settler.suspend(
    call,
    "unknown_outcome",
    `The process running ${name} stopped before its outcome was recorded.`,
  )
}

/**
 * An approval counts for exactly the call that was shown: any other is asked about again. Arguments that a person changed
 * pass the gate like any others, and the model is told of them.
 */
async function settleApproved(
  run: OpenRun,
  settler: CallSettler,
  call: ToolCall,
  { args: changed, digest }: Decision,
  begun: boolean,
): Promise<ToolOutcome | Suspended> {
  const args = changed ?? run.projection.ask?.request.args
  const edited = args === undefined ? call : { ...call, args }
  if (settler.digestOf(edited) !== digest) return settler.suspend(edited, "approval", STALE, args !== undefined)
  if (args === undefined) return settler.approved(call, { begun })
  if (changed !== undefined) {
    const verdict = await judge(run, edited, true)
    if (verdict === "suspended") return { status: "suspended" }
    if (verdict !== "run") {
      if (verdict.reason === undefined) return settler.record(call, refused(call, verdict.question))
      return settler.suspend(edited, verdict.reason, verdict.question, true)
    }
  }
  const note = `Run with arguments that a reviewer changed: ${JSON.stringify(args)}`
  return settler.approved(edited, { begun, note })
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
