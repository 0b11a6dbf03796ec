import type { Stop } from "../../../contract/backend.ts"
import { LonghaulError } from "../../../contract/error.ts"
import type { History } from "../history.ts"
import type { ContextMeter } from "./meter.ts"

/** The end of a run whose conversation cannot be made smaller: names what takes the room. */
export function stuck(why: string, history: History, meter: ContextMeter): Stop {
  const { said } = history
  const lastTurn = said.at(-1)?.turn ?? 0
  const parts = {
    window: Math.round(meter.window),
    limit: Math.round(meter.limit),
    fixed: Math.round(meter.fixed),
    input: Math.round(meter.tokensIn(said.filter(({ turn }) => turn === 0))),
    lastTurn: lastTurn === 0 ? 0 : Math.round(meter.tokensIn(said.filter(({ turn }) => turn === lastTurn))),
  }
  const message =
    `${why} Of the window of ${parts.window} tokens, ${parts.limit} can be used: the system prompt and the tools take ` +
    `${parts.fixed}, the input takes ${parts.input}, and the last turn takes ${parts.lastTurn}.`
  const failure = new LonghaulError("compaction_stuck", message, { fix: fixOf(parts), data: parts })
  return { reason: "failed", failure: failure.toJSON() }
}

function fixOf({ fixed, input, lastTurn }: Readonly<Record<"fixed" | "input" | "lastTurn", number>>): string {
  const most = Math.max(fixed, input, lastTurn)
  if (most === fixed) return "Shorten the system prompt, offer fewer tools, or use a model with a larger window."
  if (most === input) return "Shorten the task and its attachments, or use a model with a larger window."
  return "Make the tools return less at once, or use a model with a larger window."
}
