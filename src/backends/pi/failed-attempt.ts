import type { ErrorCode } from "../../contract/error.ts"
import { AttemptCost } from "../../lib/money/attempt-cost.ts"
import { totalTokens } from "../../lib/usage.ts"
import type { PiAssistant, PiPart } from "./shapes.ts"
import { toUsage } from "./translate.ts"

/**
 * The event of a request whose answer failed or was stopped; undefined if it cost nothing. `status`: of the response, if there was one.
 * Pi's own figure of dollars is for what was reported at the beginning.
 */
export function costOfFailed(message: PiAssistant, code: ErrorCode, status: number | undefined) {
  const cost = new AttemptCost()
  const usage = { ...toUsage(message.usage), costUsd: null }
  if (totalTokens(usage) !== 0) cost.accepted(usage)
  else if (status !== undefined && status < 400) cost.accepted()
  const characters = message.content.reduce((sum, part) => sum + lengthOf(part), 0)
  if (characters > 0) cost.unfinished(characters)
  return cost.metering({ code })
}

function lengthOf(part: PiPart): number {
  if (part.type === "text") return part.text.length
  return part.type === "thinking" ? part.thinking.length : JSON.stringify(part.arguments).length
}
