import type { BackendEvent, ToolCall, TurnHost } from "../../contract/backend.ts"
import type { AssistantMessage, ReasoningPart, ToolCallPart } from "../../contract/message.ts"
import type { History } from "../shared/history.ts"
import type { Responded } from "./ask.ts"
import { partId, recordable, toolCall } from "./names.ts"

export interface StepCall {
  readonly call: ToolCall
  readonly wireId: string
  /** Index among the answer's parts. */
  readonly index: number
}

interface Recording {
  readonly history: History
  readonly host: TurnHost
  readonly origin: string
}

/**
 * A step is recorded at once, only when its answer is complete. Calls of a cut answer are not recorded: the last may be
 * incomplete, and the others may depend on it.
 */
export function recordStep({ history, host, origin }: Recording, turn: number, answered: Responded): StepCall[] {
  const { answer, attempt, durationMs } = answered
  const calls: StepCall[] = []
  const content: AssistantMessage["content"][number][] = []
  let next = 0
  for (const part of answer.parts) {
    const index = next++
    const id = partId(turn, index, attempt)
    switch (part.type) {
      case "text":
        content.push({ type: "text", text: host.emit({ type: "text-end", turn, id, text: part.text }).text })
        break
      case "reasoning":
        content.push(reasoningIn(host.emit({ turn, id, ...part, type: "reasoning-end", origin })))
        break
      case "tool-call": {
        if (answer.stopReason === "output-limit") break
        const given = recordable(part)
        const call = toolCall(turn, index, given)
        const { wireId, name, args, opaque } = given
        const sealed = opaque === undefined ? {} : { opaque, origin }
        const { callId } = call
        // The request continues with what was recorded; only the tool gets the call as the model made it.
        const recorded = host.emit({ type: "tool-call", turn, callId, wireId, name, args, ...sealed })
        content.push(callIn(recorded))
        calls.push({ call, wireId: recorded.wireId, index })
        break
      }
    }
  }
  const { usage, model, requestId, stopReason } = answer
  const named = requestId === undefined ? {} : { requestId }
  host.emit({ type: "usage", turn, usage, model, ...named, stopReason, durationMs })
  // Copies, because a grown array has room for sixteen more elements, and these arrays are kept.
  history.add(turn, { role: "assistant", content: content.slice() })
  return calls.slice()
}

type Recorded<Type> = BackendEvent & { readonly type: Type }

function reasoningIn({ text, opaque, origin }: Recorded<"reasoning-end">): ReasoningPart {
  return { type: "reasoning", text, ...(opaque !== undefined && { opaque }), origin }
}

function callIn({ callId, wireId, name, args, opaque, origin }: Recorded<"tool-call">): ToolCallPart {
  return {
    type: "tool-call",
    callId,
    ...(wireId !== undefined && { wireId }),
    name,
    args,
    ...(opaque !== undefined && { opaque, ...(origin !== undefined && { origin }) }),
  }
}
