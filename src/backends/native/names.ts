import type { ToolCall } from "../../contract/backend.ts"
import type { AnswerCall } from "../../contract/provider.ts"
import { whyNotJson } from "../../lib/json.ts"
import { whyTooLarge } from "../../lib/schema/argument-size.ts"

/** Contains the attempt number, so that listeners never mix two attempts. */
export function partId(turn: number, index: number, attempt: number): string {
  return attempt === 0 ? `${turn}.${index}` : `${turn}.${index}.${attempt}`
}

/** A call that can be recorded and sent back: arguments that are too large or not valid JSON are dropped. */
export function recordable(call: AnswerCall): AnswerCall {
  const tooLarge = whyTooLarge(call.args)
  if (tooLarge !== undefined) return { ...call, args: null, invalid: tooLarge }
  const why = whyNotJson(call.args, "args")
  return why === undefined ? call : { ...call, args: null, invalid: `${why}.` }
}

/** The id is ours, not the server's: servers repeat ids within a run. */
export function toolCall(turn: number, index: number, { name, args, invalid }: AnswerCall): ToolCall {
  return { callId: `${turn}.${index}`, name, args, ...(invalid !== undefined && { invalid }) }
}
