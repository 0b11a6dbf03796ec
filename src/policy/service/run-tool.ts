import { BlockedError } from "../../contract/error.ts"
import type { ServiceVerdict } from "../../contract/policy.ts"
import { newNonce } from "../../lib/id.ts"
import { isJsonObject, jsonCopy } from "../../lib/json.ts"
import { toolPolicy } from "../../lib/schema/contract-shapes.ts"
import { checkArgument, checkShape, required } from "../../lib/schema/shape.ts"
import { errorText, outputText } from "./output-text.ts"
import type { PolicyEvent, RunToolOptions, ToolPolicy, ToolUse } from "./tool-use.ts"
import { toolUseShape } from "./tool-use.ts"

/**
 * Runs a tool under a policy: before, the tool, after. Throws `BlockedError` if the call or its output is not allowed. A verdict
 * other than `allow` blocks, and so does a policy that fails. The message of an exception is an output too.
 */
export async function runTool<Output>(policy: ToolPolicy, options: RunToolOptions<Output>): Promise<Output> {
  checkArgument("policy", policy, toolPolicy)
  checkShape<RunToolOptions<Output>>("runTool", options, { ...toolUseShape, execute: required("function") })
  const { execute, ...given } = options
  const use = await allowedUse(policy, given)
  let output: Output
  try {
    output = await execute(jsonCopy(use.toolInput))
  } catch (error) {
    await checkFailure(policy, use, error)
    throw error
  }
  await checkOutput(policy, use, output)
  return output
}

/** The use that may run, with the arguments of the policy. Throws `BlockedError` if the call is not allowed. */
export async function allowedUse(policy: ToolPolicy, given: ToolUse): Promise<ToolUse> {
  // The arguments must not change after the decision: neither the caller nor the policy may change them.
  const asked = { ...given, toolInput: jsonCopy(given.toolInput), toolUseId: given.toolUseId ?? newNonce() }
  const verdict = await verdictOf("deny", () => policy.preTool({ ...asked, toolInput: jsonCopy(asked.toolInput) }))
  if (verdict.decision !== "allow") throw blocked(asked, verdict)
  return verdict.args ? withoutDigest({ ...asked, toolInput: jsonCopy(verdict.args) }) : asked
}

/** Throws `BlockedError` if the output may not be passed on. */
export async function checkOutput(policy: ToolPolicy, use: ToolUse, output: unknown): Promise<void> {
  const verdict = await verdictOf("block", () =>
    policy.postTool(use, { outcome: "ok", toolOutput: outputText(output) }),
  )
  if (verdict.decision !== "allow") throw blocked(use, verdict)
}

/** Reports a failed tool. Throws `BlockedError` if the exception may not be passed on: frameworks show it to the model. */
export async function checkFailure(policy: ToolPolicy, use: ToolUse, error: unknown): Promise<void> {
  // Best effort: a lost event must not replace the tool's own exception.
  await reportFailure(policy, use, error).catch(() => undefined)
  const verdict = await verdictOf("block", () =>
    policy.postTool(use, { outcome: "error", toolOutput: errorText(error) }),
  )
  if (verdict.decision !== "allow") throw blocked(use, verdict)
}

/** A policy that fails in any way does not allow. */
async function verdictOf(closed: "deny" | "block", ask: () => Promise<ServiceVerdict>): Promise<ServiceVerdict> {
  try {
    const verdict = await ask()
    return isKnown(verdict) ? verdict : { decision: closed, reason: "The policy gave an unknown verdict." }
  } catch {
    // The message of a policy's exception is not for the model.
    return { decision: closed, reason: "The policy failed." }
  }
}

/** A policy may be code of the user: its verdict is checked like an answer of a service. */
function isKnown(verdict: ServiceVerdict): boolean {
  if (verdict.decision === "allow") return verdict.args === undefined || isJsonObject(verdict.args)
  return ["deny", "ask", "block"].includes(verdict.decision) && typeof verdict.reason === "string"
}

export function blocked({ toolName }: Pick<ToolUse, "toolName">, verdict: ServiceVerdict): BlockedError {
  const reason = verdict.decision === "allow" ? "" : verdict.reason
  const what = verdict.decision === "block" ? `The output of ${toolName} was blocked` : `${toolName} was denied`
  return new BlockedError(`${what}: ${reason}`, { data: { toolName, decision: verdict.decision, reason } })
}

async function reportFailure(
  policy: ToolPolicy,
  { sessionId, toolName, toolUseId }: ToolUse,
  error: unknown,
): Promise<void> {
  const facts = { sessionId, toolName, ...(toolUseId !== undefined && { toolUseId }) }
  await policy.send?.({ event: "PostToolUseFailure", ...facts, ...failureTexts(error) })
}

/** The report of a failed tool: programs that fail leave their output in the exception. The client bounds the texts. */
function failureTexts(error: unknown): Pick<PolicyEvent, "error" | "stdout" | "stderr" | "output"> {
  const texts = (["stdout", "stderr", "output"] as const).flatMap((name) => {
    const text = memberText(error, name)
    return text === undefined ? [] : [[name, text] as const]
  })
  return { error: messageOf(error), ...Object.fromEntries(texts) }
}

/** Undefined if there is none, or none that can be written: the rest of the failure is reported anyway. */
function memberText(error: unknown, name: string): string | undefined {
  try {
    const value: unknown = typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined
    return value === undefined ? undefined : streamText(value)
  } catch {
    return undefined
  }
}

/** The output of a program may be bytes, or a list of its streams in which the first is null. */
function streamText(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (!Array.isArray(value) || !value.some((part) => part instanceof Uint8Array)) return outputText(value)
  return value.flatMap((part) => (part === null ? [] : [streamText(part)])).join("\n")
}

/** Rewritten arguments have another digest than the one that the caller passed. */
function withoutDigest({ digest: _, ...use }: ToolUse): ToolUse {
  return use
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
