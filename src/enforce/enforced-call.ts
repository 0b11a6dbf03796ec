import { BlockedError, LonghaulError } from "../contract/error.ts"
import type { Json, JsonObject } from "../contract/json.ts"
import { isJsonObject, whyNotJson } from "../lib/json.ts"
import { toolPolicy } from "../lib/schema/contract-shapes.ts"
import { checkShape, required, words } from "../lib/schema/shape.ts"
import { allowedUse, checkFailure, checkOutput } from "../policy/service/run-tool.ts"
import type { ToolPolicy, ToolUse } from "../policy/service/tool-use.ts"

export interface EnforceOptions {
  /** `PolicyClient` for a policy service, `toolPolicy` for rules in this process, or your own. */
  readonly policy: ToolPolicy
  /** Identifies the conversation in the policy's decisions and events. */
  readonly sessionId: string
  /** `allow`: accepts tools whose calls cannot be stopped from here. Default: they are rejected. */
  readonly unenforced?: "allow"
}

/** A call that the policy allowed. */
export interface AllowedCall {
  readonly use: ToolUse
  /** The arguments that may run: the given ones, or those of the policy. */
  readonly input: unknown
}

export interface EnforcedCall {
  readonly toolName: string
  readonly toolUseId?: string | undefined
  readonly agent?: string | undefined
  readonly cwd?: string | undefined
}

/** Runs a tool of another framework under the policy. Throws `BlockedError` if the call, its output or its exception is blocked. */
export async function runEnforced(
  options: EnforceOptions,
  call: EnforcedCall,
  input: unknown,
  run: (input: unknown) => unknown,
): Promise<unknown> {
  const allowed = await allowCall(options, call, input)
  let output: unknown
  try {
    output = await run(allowed.input)
  } catch (error) {
    await checkFailure(options.policy, allowed.use, error)
    throw error
  }
  await checkOutput(options.policy, allowed.use, output)
  return output
}

/** Throws `BlockedError` unless the policy allows the call. */
export async function allowCall(
  { policy, sessionId }: Pick<EnforceOptions, "policy" | "sessionId">,
  { toolName, toolUseId, agent, cwd }: EnforcedCall,
  input: unknown,
): Promise<AllowedCall> {
  const text = describeCall(toolName, input)
  const asked: ToolUse = {
    sessionId,
    toolName,
    toolInput: objectOf(JSON.parse(text)),
    ...(toolUseId !== undefined && { toolUseId }),
    ...(agent !== undefined && { agent }),
    ...(cwd !== undefined && { cwd }),
  }
  const shown = JSON.stringify(asked.toolInput)
  const use = await allowedUse(policy, asked)
  // By text: a policy may return the object that it received, changed.
  if (JSON.stringify(use.toolInput) !== shown) {
    return { use, input: isJsonObject(input) || input === undefined ? use.toolInput : use.toolInput.input }
  }
  // The arguments run as they are, which may be more than JSON: they must still be those that the policy saw.
  if (describeCall(toolName, input) !== text) {
    throw new BlockedError(`The arguments of ${toolName} changed while the policy decided.`)
  }
  return { use, input }
}

/** Throws `config_invalid` for options that cannot work: without them every call would be denied, or have no session. */
export function checkOptions(where: string, options: EnforceOptions): void {
  checkShape<EnforceOptions>(where, options, {
    policy: required(toolPolicy),
    sessionId: required("text"),
    unenforced: words("allow"),
  })
  if (options.sessionId !== "") return
  throw new LonghaulError("config_invalid", `${where} has no sessionId.`, {
    fix: "Pass the id of the conversation as sessionId.",
  })
}

/** Throws `config_invalid` for a tool whose calls cannot be stopped, unless the user accepts that. */
export function rejectUnenforced({ unenforced }: Pick<EnforceOptions, "unenforced">, tool: string, why: string): void {
  if (unenforced === "allow") return
  throw new LonghaulError("config_invalid", `The policy cannot stop calls of ${tool}: ${why}.`, {
    fix: 'Remove the tool, or set unenforced: "allow" to let its calls run without the policy.',
  })
}

/** Arguments that JSON does not show completely cannot be decided. */
function describeCall(toolName: string, input: unknown): string {
  const issue = whyNotJson(input, "input") ?? hiddenIn(input)
  if (issue === undefined) return JSON.stringify(input ?? {})
  throw new BlockedError(`The arguments of ${toolName} cannot be shown to the policy: ${issue}.`)
}

function hiddenIn(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null) return undefined
  if (input instanceof Map || input instanceof Set) return "they contain a Map or a Set"
  return Object.values(input)
    .map(hiddenIn)
    .find((issue) => issue !== undefined)
}

/** Policies decide about objects. Other arguments, which few frameworks allow, are their only member. */
function objectOf(input: Json): JsonObject {
  return isJsonObject(input) ? input : { input }
}
