import type { Stop, ToolCall, TurnHost } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { AssistantMessage, ToolResultPart } from "../../contract/message.ts"
import type { Answer, AnswerCall, Conversation } from "../../contract/provider.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import type { RetryPolicy } from "../../lib/retry.ts"
import { askModel, partId } from "./ask.ts"
import type { Controls } from "./controls.ts"
import type { Dialogue } from "./dialogue.ts"

export interface Loop {
  readonly dialogue: Dialogue
  readonly conversation: Conversation
  readonly controls: Controls
  /** `provider:model`, kept with reasoning so that it goes back to nobody else. */
  readonly origin: string
  readonly turnLimit: number
  readonly retry: RetryPolicy
  readonly host: TurnHost
}

/** Ask the model, record its step, run its calls, hand back their results, until it calls nothing more. */
export async function runLoop(loop: Loop): Promise<Stop> {
  const { dialogue, controls, host } = loop
  for (let turn = 1; ; turn++) {
    if (controls.stopping.aborted) return { reason: "interrupted" }
    if (turn > loop.turnLimit) return { reason: "turn-limit" }
    host.emit({ type: "turn-start", turn })

    const reply = await askModel({
      turn,
      messages: dialogue.messages,
      conversation: loop.conversation,
      retry: loop.retry,
      host,
      controls,
      startEarly: (call, index) =>
        call.invalid === undefined && host.startsEarly(call.name)
          ? host.callTool(toolCall(turn, index, call))
          : undefined,
    })
    if ("stop" in reply) return reply.stop
    const { answer, attempt, early } = reply

    const calls = recordStep(loop, turn, answer, attempt)
    const halted = haltOf(answer)
    if (halted) return halted
    if (calls.length > 0) {
      const outcomes = await Promise.all(calls.map(({ call, index }) => early.get(index) ?? host.callTool(call)))
      dialogue.add({ role: "tool", content: calls.map((each, at) => resultPart(each, outcomes[at] as ToolOutcome)) })
    }
    host.emit({ type: "turn-end", turn })
    if (calls.length === 0 && answer.stopReason !== "pause") return { reason: "done", text: textOf(answer) }
  }
}

interface StepCall {
  readonly call: ToolCall
  readonly wireId: string
  readonly index: number
}

/** A step enters the record whole and in one go, only when its answer is complete. */
function recordStep({ dialogue, host, origin }: Loop, turn: number, answer: Answer, attempt: number): StepCall[] {
  const calls: StepCall[] = []
  const content: AssistantMessage["content"][number][] = []
  answer.parts.forEach((part, index) => {
    const id = partId(turn, index, attempt)
    switch (part.type) {
      case "text":
        host.emit({ type: "text-end", turn, id, text: part.text })
        content.push(part)
        break
      case "reasoning":
        host.emit({ type: "reasoning-end", turn, id, ...withoutType(part), origin })
        content.push({ ...part, origin })
        break
      case "tool-call": {
        const call = toolCall(turn, index, part)
        const { wireId, name, args, opaque } = part
        const said = {
          type: "tool-call",
          callId: call.callId,
          wireId,
          name,
          args,
          ...(opaque !== undefined && { opaque, origin }),
        } as const
        host.emit({ ...said, turn })
        content.push(said)
        calls.push({ call, wireId, index })
        break
      }
    }
  })
  const { usage, model, requestId, stopReason } = answer
  host.emit({ type: "usage", turn, usage, model, ...(requestId !== undefined && { requestId }), stopReason })
  dialogue.add({ role: "assistant", content })
  return calls
}

/** Endings in which calls must not run: the answer may have been cut in the middle of one. */
function haltOf(answer: Answer): Stop | undefined {
  switch (answer.stopReason) {
    case "output-limit":
      return { reason: "output-limit" }
    case "refusal":
      return { reason: "refusal" }
    case "context-overflow": {
      const failure = new LonghaulError("context_overflow", "The conversation no longer fits the model's context.", {
        fix: "Shorten the task or its history.",
      })
      return { reason: "failed", failure: failure.toJSON() }
    }
    case "end":
    case "tool-calls":
    case "pause":
      return undefined
  }
}

/** Ours, not the server's: servers repeat ids along a run. */
function toolCall(turn: number, index: number, { name, args, invalid }: AnswerCall): ToolCall {
  return { callId: `${turn}.${index}`, name, args, ...(invalid !== undefined && { invalid }) }
}

function resultPart({ call, wireId }: StepCall, outcome: ToolOutcome): ToolResultPart {
  return { type: "tool-result", callId: call.callId, wireId, ...outcome }
}

function withoutType<T extends { readonly type: string }>({ type: _, ...rest }: T): Omit<T, "type"> {
  return rest
}

function textOf(answer: Answer): string {
  return answer.parts.map((part) => (part.type === "text" ? part.text : "")).join("")
}
