import type { Stop, TurnHost } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { SteerReason } from "../../contract/event.ts"
import type { ToolResultPart } from "../../contract/message.ts"
import type { Answer, Conversation } from "../../contract/provider.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import type { RetryPolicy } from "../../lib/retry.ts"
import { type Answered, askModel } from "./ask.ts"
import type { Controls } from "./controls.ts"
import type { Dialogue } from "./dialogue.ts"
import { recordStep, type StepCall } from "./record-step.ts"
import type { TurnBounds } from "./turn-bounds.ts"

export interface Loop {
  readonly dialogue: Dialogue
  readonly conversation: Conversation
  readonly controls: Controls
  readonly bounds: TurnBounds
  /** `provider:model`, kept with reasoning so that it goes back to nobody else. */
  readonly origin: string
  readonly retry: RetryPolicy
  /** Turns that the conversation took before. */
  readonly turnsBefore: number
  readonly host: TurnHost
}

/** Runs to the stop. What was said and not heard by then is on record, for whoever goes on. */
export function runLoop(loop: Loop): Promise<Stop> {
  return takeTurns(loop).then((stop) => {
    for (const text of loop.controls.undelivered()) loop.host.emit({ type: "steer", text })
    return stop
  })
}

/** Ask the model, record its step, run its calls, hand back their results, until it calls nothing more. */
async function takeTurns(loop: Loop): Promise<Stop> {
  const { controls, bounds, host } = loop
  let cuts = 0
  for (let turn = loop.turnsBefore + 1; ; turn++) {
    if (controls.stopping) return { reason: "interrupted" }
    const admitted = host.beginTurn(turn, bounds.next)
    if (admitted !== true && !(await admitted)) return { reason: "limit" }

    const reply = await askModel(loop, turn)
    if ("stop" in reply) return reply.stop
    const { answer } = reply

    bounds.settle(answer.usage)
    const calls = recordStep(loop, turn, reply)
    const cut = answer.stopReason === "output-limit"
    const halted = cut && ++cuts > MOST_CUTS ? ({ reason: "output-limit" } as const) : haltOf(answer)
    if (halted) return halted
    if (calls.length > 0 && (await runCalls(loop, calls, reply)) === "suspended") return { reason: "suspended" }

    const goesOn = host.endTurn(turn)
    if (goesOn !== true && !(await goesOn)) return { reason: "done", text: textOf(answer) }
    const final = calls.length === 0 && !cut && answer.stopReason !== "pause"
    const complaint = final ? await host.review(textOf(answer)) : undefined
    const steers = controls.takeSteers(final && complaint === undefined)
    if (steers === "closed") return { reason: "done", text: textOf(answer) }
    if (cut) tell(loop, GO_ON, "output-limit")
    if (complaint !== undefined) tell(loop, complaint, "repair")
    for (const text of steers) tell(loop, text)
  }
}

/** All of them are settled before any result counts: one may have to wait, while others beside it ran. */
async function runCalls(
  { dialogue, host }: Loop,
  calls: readonly StepCall[],
  { early }: Answered,
): Promise<"settled" | "suspended"> {
  const running: Running[] = []
  for (const { call, index } of calls) running.push(early?.get(index) ?? host.callTool(call))
  const [only] = running
  const outcomes = running.length === 1 && only ? [await only] : await Promise.all(running)
  const results: ToolResultPart[] = []
  for (const outcome of outcomes) {
    if (outcome.status === "suspended") return "suspended"
    // Safe: there is one outcome for each call, in the same order.
    results.push(resultPart(calls[results.length] as StepCall, outcome))
  }
  dialogue.add({ role: "tool", content: results.slice() })
  return "settled"
}

type Running = ReturnType<TurnHost["callTool"]>

/** Something for the model to hear before its next turn, on record like everything that it hears. */
function tell({ dialogue, host }: Loop, text: string, reason?: SteerReason): void {
  host.emit({ type: "steer", text, ...(reason && { reason }) })
  dialogue.add({ role: "user", content: [{ type: "text", text }] })
}

/** Endings after which nothing more can be asked, and in which calls must not run. */
function haltOf(answer: Answer): Stop | undefined {
  if (answer.stopReason === "refusal") return { reason: "refusal" }
  if (answer.stopReason !== "context-overflow") return undefined
  const failure = new LonghaulError("context_overflow", "The conversation no longer fits the model's context.", {
    fix: "Shorten the task or its history.",
  })
  return { reason: "failed", failure: failure.toJSON() }
}

function resultPart({ call, wireId }: StepCall, outcome: ToolOutcome): ToolResultPart {
  return { type: "tool-result", callId: call.callId, wireId, ...outcome }
}

function textOf(answer: Answer): string {
  return answer.parts.map((part) => (part.type === "text" ? part.text : "")).join("")
}

/** How often an answer that was cut at the output limit is asked to go on. */
const MOST_CUTS = 3
const GO_ON =
  "Your answer was cut at the output limit, and none of its tool calls ran. Go on exactly where it stopped, without " +
  "repeating anything. Make what is left in smaller steps."
