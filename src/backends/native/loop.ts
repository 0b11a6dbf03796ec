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
  /** `provider:model`, stored with reasoning so that it is sent back only to its origin. */
  readonly origin: string
  readonly retry: RetryPolicy
  /** Turns of the conversation before this session. */
  readonly turnsBefore: number
  readonly host: TurnHost
}

/** Runs until a stop. Undelivered messages are recorded for the process that resumes the run. */
export async function runLoop(loop: Loop): Promise<Stop> {
  const stop = await takeTurns(loop)
  for (const text of loop.controls.undelivered()) loop.host.emit({ type: "steer", text })
  return stop
}

/** Calls the model, records its step, runs its calls and returns their results, until the model makes no more calls. */
async function takeTurns(loop: Loop): Promise<Stop> {
  const { controls, bounds, host } = loop
  let cuts = 0
  for (let turn = loop.turnsBefore + 1; ; turn++) {
    if (controls.stopping) return { reason: "interrupted" }
    if (!(await host.beginTurn(turn, bounds.next))) return { reason: "limit" }

    const reply = await askModel(loop, turn)
    if ("stop" in reply) return reply.stop
    const { answer } = reply

    bounds.settle(answer.usage)
    const calls = recordStep(loop, turn, reply)
    const cut = answer.stopReason === "output-limit"
    const halted = cut && ++cuts > MOST_CUTS ? ({ reason: "output-limit" } as const) : haltOf(answer)
    if (halted) return halted
    if (calls.length > 0 && (await runCalls(loop, calls, reply)) === "suspended") return { reason: "suspended" }

    if (!(await host.endTurn(turn))) return { reason: "done", text: textOf(answer) }
    const final = calls.length === 0 && !cut && answer.stopReason !== "pause"
    const complaint = final ? await host.review(textOf(answer)) : undefined
    const steers = controls.takeSteers(final && complaint === undefined)
    if (steers === "closed") return { reason: "done", text: textOf(answer) }
    if (cut) tell(loop, GO_ON, "output-limit")
    if (complaint !== undefined) tell(loop, complaint, "repair")
    for (const text of steers) tell(loop, text)
  }
}

/** All calls finish before any result is used: one may have to wait for a person while others ran beside it. */
async function runCalls(
  { dialogue, host }: Loop,
  calls: readonly StepCall[],
  { early }: Answered,
): Promise<"finished" | "suspended"> {
  const finished = await Promise.all(
    calls.map(async (step) => ({ step, outcome: await (early?.get(step.index) ?? host.callTool(step.call)) })),
  )
  const results = finished.flatMap(({ step, outcome }) =>
    outcome.status === "suspended" ? [] : [resultPart(step, outcome)],
  )
  if (results.length < finished.length) return "suspended"
  dialogue.add({ role: "tool", content: results })
  return "finished"
}

/** A message for the model before its next turn, recorded like all its input. */
function tell({ dialogue, host }: Loop, text: string, reason?: SteerReason): void {
  const recorded = host.emit({ type: "steer", text, ...(reason && { reason }) })
  dialogue.add({ role: "user", content: [{ type: "text", text: recorded.text }] })
}

/** The stop for an answer after which the model cannot be asked again. Its calls must not run. */
function haltOf(answer: Answer): Stop | undefined {
  if (answer.stopReason === "refusal") return { reason: "refusal" }
  if (answer.stopReason !== "context-overflow") return undefined
  const failure = new LonghaulError("context_overflow", "The conversation no longer fits in the model's context.", {
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

/** How often the model is asked to continue an answer that was cut at the output limit. */
const MOST_CUTS = 3
const GO_ON =
  "Your answer was cut at the output limit, and none of its tool calls ran. Continue exactly where it stopped, without " +
  "repeating anything. Split the remaining work into smaller steps."
