import type { ApprovalDecision, ApprovalRequest } from "../contract/policy.ts"
import { delay, onAbort } from "../lib/abort.ts"
import { isJsonObject, jsonCopy, whyNotJson } from "../lib/json.ts"
import type { ActivePolicy } from "./pipeline.ts"

/**
 * Calls `onAsk`. No decision in time, an exception and an unknown decision deny the call; a question stays open then, because a
 * refusal would be an answer, and only the person may give one. `stop`: closes the question, which stays open then as well,
 * unless the decision is there already: to stop is not to deny.
 */
export async function askPerson(
  { onAsk, askTimeoutMs }: Pick<ActivePolicy, "onAsk" | "askTimeoutMs">,
  request: Omit<ApprovalRequest, "signal">,
  stop?: AbortSignal,
): Promise<ApprovalDecision> {
  const without = (denial: ApprovalDecision) => (request.reason === "input" ? pause : denial)
  const closing = new AbortController()
  let leaveOpen = (_: ApprovalDecision) => {}
  const stopped = new Promise<ApprovalDecision>((resolve) => {
    leaveOpen = resolve
  })
  const unlink = onAbort(stop, () => {
    // Before the callback is informed: what it then returns is not a decision of a person.
    leaveOpen(pause)
    closing.abort()
  })
  try {
    const late = delay(askTimeoutMs, closing.signal).then(() => without(tooLate))
    const asking = onAsk?.({ ...request, args: jsonCopy(request.args), signal: closing.signal })
    return checkedDecision(await Promise.race([asking, stopped, late])) ?? without(failed)
  } catch {
    return without(failed)
  } finally {
    unlink()
    closing.abort()
  }
}

const pause: ApprovalDecision = { decision: "pause" }
const tooLate: ApprovalDecision = { decision: "deny", reason: "no decision was made in time" }
const failed: ApprovalDecision = { decision: "deny", reason: "the approval callback failed" }

function checkedDecision(given: unknown): ApprovalDecision | undefined {
  if (!isJsonObject(given)) return undefined
  const { decision, reason, args, text } = given
  if (decision === "deny") return { decision, ...(typeof reason === "string" && { reason }) }
  if (decision === "always" || decision === "pause") return { decision }
  if (decision === "answer") return typeof text === "string" ? { decision, text } : undefined
  if (decision !== "approve" || whyNotJson(args ?? null, "args") !== undefined) return undefined
  return { decision, ...(args !== undefined && { args: jsonCopy(args) }) }
}
