import type { ApprovalDecision, ApprovalRequest } from "../contract/policy.ts"
import { Aborter, delay, onAbort, orAborted } from "../lib/abort.ts"
import { isJsonObject, jsonCopy, whyNotJson } from "../lib/json.ts"
import type { ActivePolicy } from "./pipeline.ts"

/** Calls `onAsk`. No decision in time, an exception and an unknown decision deny the call. `stop`: closes the question. */
export async function askPerson(
  { onAsk, askTimeoutMs }: Pick<ActivePolicy, "onAsk" | "askTimeoutMs">,
  request: Omit<ApprovalRequest, "signal">,
  stop?: AbortSignal,
): Promise<ApprovalDecision> {
  const closing = new Aborter()
  const unlink = onAbort(stop, () => closing.abort())
  try {
    const late = delay(askTimeoutMs, closing.signal).then(() => tooLate)
    const asking = orAborted(
      onAsk?.({ ...request, args: jsonCopy(request.args), signal: closing.signal }),
      closing.signal,
    )
    return checkedDecision(await Promise.race([asking, late]))
  } catch {
    return failed
  } finally {
    unlink()
    closing.abort()
  }
}

const tooLate: ApprovalDecision = { decision: "deny", reason: "no decision was made in time" }
const failed: ApprovalDecision = { decision: "deny", reason: "the approval callback failed" }

function checkedDecision(given: unknown): ApprovalDecision {
  if (!isJsonObject(given)) return failed
  const { decision, reason, args } = given
  if (decision === "deny") return { decision, ...(typeof reason === "string" && { reason }) }
  if (decision === "always") return { decision }
  if (decision !== "approve" || whyNotJson(args ?? null, "args") !== undefined) return failed
  return { decision, ...(args !== undefined && { args: jsonCopy(args) }) }
}
