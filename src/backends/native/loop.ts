import type { SteerEvent, Stop, TurnHost } from "../../contract/backend.ts"
import type { ToolResultPart } from "../../contract/message.ts"
import type { Conversation } from "../../contract/provider.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import type { RetryPolicy } from "../../lib/retry.ts"
import { answerText } from "../shared/answer-text.ts"
import type { Compactor } from "../shared/compaction/compactor.ts"
import type { ContextMeter } from "../shared/compaction/meter.ts"
import type { Controls } from "../shared/controls.ts"
import { CUT_AT_OUTPUT_LIMIT } from "../shared/cut-answer.ts"
import type { History } from "../shared/history.ts"
import type { TurnBounds } from "../shared/turn-bounds.ts"
import { askModel, cutByWindow, type Responded } from "./ask.ts"
import { recordStep, type StepCall } from "./record-step.ts"

export interface Loop {
  readonly history: History
  readonly conversation: Conversation
  readonly controls: Controls
  readonly bounds: TurnBounds
  /** Absent: the conversation is never shortened. */
  readonly compaction?: { readonly compactor: Compactor; readonly meter: ContextMeter }
  /** `provider:model`, stored with reasoning so that it is sent back only to its origin. */
  readonly origin: string
  readonly retry: RetryPolicy
  /** Turns of the conversation before this session. */
  readonly turnsBefore: number
  readonly host: TurnHost
}

/** Calls the model, records its step, runs its calls and returns their results, until the model makes no further calls. */
export async function runLoop(loop: Loop): Promise<Stop> {
  const { controls, bounds, host, compaction } = loop
  let cuts = 0
  for (let turn = loop.turnsBefore + 1; ; turn++) {
    if (controls.stopping) return { reason: "interrupted" }
    const stop = await compaction?.compactor.beforeRequest(turn)
    if (stop) return stop
    const reply = await takeTurn(loop, turn)
    if ("stop" in reply) return reply.stop
    const { answer } = reply

    bounds.settle(answer.usage)
    compaction?.meter.settle(answer.usage)
    const calls = recordStep(loop, turn, reply)
    const cut = answer.stopReason === "output-limit"
    if (cut && ++cuts > MAX_CUTS) return { reason: "output-limit" }
    if (answer.stopReason === "refusal") return { reason: "refusal" }
    if (answer.stopReason === "context-overflow") return { reason: "failed", failure: cutByWindow }
    if (calls.length > 0 && (await runCalls(loop, turn, calls, reply)) === "suspended") return { reason: "suspended" }

    const ended = await host.endTurn(turn)
    if (ended) return ended
    const final = calls.length === 0 && !cut && answer.stopReason !== "pause"
    const validationError = final ? await host.review(answerText(answer)) : undefined
    const steers = controls.takeSteers(final && validationError === undefined)
    if (steers === "closed") return { reason: "done", text: answerText(answer) }
    if (cut) tell(loop, turn, { type: "steer", text: CUT_AT_OUTPUT_LIMIT, reason: "output-limit" })
    if (validationError !== undefined) tell(loop, turn, { type: "steer", text: validationError, reason: "repair" })
    for (const message of steers) tell(loop, turn, { type: "steer", ...message })
  }
}

/** Asks the model, again after a compaction if the conversation was too long for it. */
async function takeTurn(loop: Loop, turn: number): Promise<Responded | { readonly stop: Stop }> {
  for (let attempts = 0; ; ) {
    const refused = await loop.host.beginTurn(turn, loop.bounds.next)
    if (refused) return { stop: refused }
    const reply = await askModel(loop, turn, attempts)
    if (!("overflow" in reply)) return reply
    const { overflow, usage } = reply
    attempts = reply.attempts
    const stop = await loop.compaction?.compactor.onOverflow(turn, overflow, usage)
    if (stop) return { stop }
    if (loop.controls.stopping) return { stop: { reason: "interrupted" } }
  }
}

/** All calls finish before any result is used: one may have to wait for a person while others ran in parallel. */
async function runCalls(
  { history, host }: Loop,
  turn: number,
  calls: readonly StepCall[],
  { early }: Responded,
): Promise<"finished" | "suspended"> {
  const finished = await Promise.all(
    calls.map(async (step) => ({ step, outcome: await (early?.get(step.index) ?? host.callTool(step.call)) })),
  )
  const results = finished.flatMap(({ step, outcome }) =>
    outcome.status === "suspended" ? [] : [resultPart(step, outcome)],
  )
  if (results.length < finished.length) return "suspended"
  history.add(turn, { role: "tool", content: results })
  return "finished"
}

/** A message for the model before its next turn, recorded like all its input. */
function tell({ history, host }: Loop, turn: number, message: SteerEvent): void {
  const { text } = host.emit(message)
  history.add(turn, { role: "user", content: [{ type: "text", text }] })
}

function resultPart({ call, wireId }: StepCall, outcome: ToolOutcome): ToolResultPart {
  return { type: "tool-result", callId: call.callId, wireId, ...outcome }
}

/** How often the model is asked to continue an answer that was cut at the output limit. */
const MAX_CUTS = 3
