import type { ToolCall } from "../../contract/backend.ts"
import type { AnswerCall } from "../../contract/provider.ts"
import { whyNotJson } from "../../lib/json.ts"

/** Carries the attempt, so that listeners never mix two. */
export function partId(turn: number, index: number, attempt: number): string {
  return attempt === 0 ? `${turn}.${index}` : `${turn}.${index}.${attempt}`
}

/** A call as it can be recorded and handed back: arguments that cannot be written as JSON are none. */
export function recordable(call: AnswerCall): AnswerCall {
  const why = whyNotJson(call.args, "args")
  return why === undefined ? call : { ...call, args: null, invalid: `${why}.` }
}

/** Its id is ours, not the server's: servers repeat ids along a run. */
export function toolCall(turn: number, index: number, { name, args, invalid }: AnswerCall): ToolCall {
  return { callId: `${turn}.${index}`, name, args, ...(invalid !== undefined && { invalid }) }
}
