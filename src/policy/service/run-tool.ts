import { BlockedError } from "../../contract/error.ts"
import type { ServiceVerdict } from "../../contract/policy.ts"
import { newNonce } from "../../lib/id.ts"
import type { RunToolOptions, ToolPolicy, ToolUse } from "./tool-use.ts"

/**
 * Runs a tool under a policy: before, the tool, after. Throws `BlockedError` if the call or its output is not allowed. A verdict
 * other than `allow` blocks, and so does a policy that fails. The message of an exception is an output too.
 */
export async function runTool<Output>(
  policy: ToolPolicy,
  { execute, ...given }: RunToolOptions<Output>,
): Promise<Output> {
  const asked = { ...given, toolUseId: given.toolUseId ?? newNonce() }
  const before = await policy.preTool(asked).catch(failedBefore)
  if (before.decision !== "allow") throw blocked(asked, before)
  const use = before.args ? withoutDigest({ ...asked, toolInput: before.args }) : asked
  let output: Output
  try {
    output = await execute(use.toolInput)
  } catch (error) {
    await policy.send?.({ event: "PostToolUseFailure", ...failureOf(use, error) })
    const after = await policy.postTool(use, { outcome: "error", toolOutput: messageOf(error) }).catch(failedAfter)
    if (after.decision !== "allow") throw blocked(use, after)
    throw error
  }
  const after = await policy.postTool(use, { outcome: "ok", toolOutput: textOf(output) }).catch(failedAfter)
  if (after.decision !== "allow") throw blocked(use, after)
  return output
}

const failedBefore = (): ServiceVerdict => ({ decision: "deny", reason: "The policy failed." })
const failedAfter = (): ServiceVerdict => ({ decision: "block", reason: "The policy failed." })

export function blocked({ toolName }: Pick<ToolUse, "toolName">, verdict: ServiceVerdict): BlockedError {
  const reason = verdict.decision === "allow" ? "" : verdict.reason
  const what = verdict.decision === "block" ? `The output of ${toolName} was blocked` : `${toolName} was denied`
  return new BlockedError(`${what}: ${reason}`, { data: { toolName, decision: verdict.decision, reason } })
}

function failureOf({ sessionId, toolName, toolUseId }: ToolUse, error: unknown) {
  return { sessionId, toolName, ...(toolUseId !== undefined && { toolUseId }), error: messageOf(error) }
}

/** Rewritten arguments have another digest than the one that the caller passed. */
function withoutDigest({ digest: _, ...use }: ToolUse): ToolUse {
  return use
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The output as the policy sees it. */
function textOf(output: unknown): string {
  if (typeof output === "string") return output
  try {
    return JSON.stringify(output) ?? String(output)
  } catch {
    return String(output)
  }
}
