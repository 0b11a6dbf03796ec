import type { ToolCall, TurnHost } from "../../contract/backend.ts"
import type { AssistantMessage } from "../../contract/message.ts"
import type { Answered } from "./ask.ts"
import type { Dialogue } from "./dialogue.ts"
import { partId, recordable, toolCall } from "./names.ts"

export interface StepCall {
  readonly call: ToolCall
  readonly wireId: string
  /** Index among the answer's parts. */
  readonly index: number
}

interface Recording {
  readonly dialogue: Dialogue
  readonly host: TurnHost
  readonly origin: string
}

/**
 * A step is recorded at once, only when its answer is complete. Calls of a cut answer are not recorded: the last may be
 * incomplete, and the others may depend on it.
 */
export function recordStep({ dialogue, host, origin }: Recording, turn: number, answered: Answered): StepCall[] {
  const { answer, attempt, durationMs } = answered
  const calls: StepCall[] = []
  const content: AssistantMessage["content"][number][] = []
  let next = 0
  for (const part of answer.parts) {
    const index = next++
    const id = partId(turn, index, attempt)
    switch (part.type) {
      case "text":
        host.emit({ type: "text-end", turn, id, text: part.text })
        content.push(part)
        break
      case "reasoning":
        host.emit({ turn, id, ...part, type: "reasoning-end", origin })
        content.push({ ...part, origin })
        break
      case "tool-call": {
        if (answer.stopReason === "output-limit") break
        const given = recordable(part)
        const call = toolCall(turn, index, given)
        const { wireId, name, args, opaque } = given
        const sealed = opaque === undefined ? {} : { opaque, origin }
        const { callId } = call
        host.emit({ type: "tool-call", turn, callId, wireId, name, args, ...sealed })
        content.push({ type: "tool-call", callId, wireId, name, args, ...sealed })
        calls.push({ call, wireId, index })
        break
      }
    }
  }
  const { usage, model, requestId, stopReason } = answer
  const named = requestId === undefined ? {} : { requestId }
  host.emit({ type: "usage", turn, usage, model, ...named, stopReason, durationMs })
  // Copies, because a grown array has room for sixteen more elements, and these arrays are kept.
  dialogue.add({ role: "assistant", content: content.slice() })
  return calls.slice()
}
