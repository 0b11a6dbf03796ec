// biome-ignore lint/suspicious/noTsIgnore: users have the package, and then there is no error to expect.
/** @ts-ignore The package is an optional peer: without it these types are `any`. */

import type { Tool, ToolInputParameters, ToolOptions, ToolOutputSchema } from "@openai/agents"
import { LonghaulError } from "../contract/error.ts"
import { checkArgument, having, listOf, required } from "../lib/schema/shape.ts"
import { checkOptions, type EnforceOptions, rejectUnenforced, runEnforced } from "./enforced-call.ts"

export type { EnforceOptions } from "./enforced-call.ts"

/**
 * The same options, for `tool()` of `@openai/agents`: each call must pass the policy, before it runs and with its output. A call
 * that is not allowed throws `BlockedError`, and the model sees its message, unless `errorFunction` decides otherwise.
 */
export function enforceTool<
  Parameters extends ToolInputParameters,
  Context = unknown,
  OutputSchema extends ToolOutputSchema | undefined = undefined,
>(
  options: ToolOptions<Parameters, Context, OutputSchema>,
  enforce: EnforceOptions,
): ToolOptions<Parameters, Context, OutputSchema> {
  checkOptions("enforceTool", enforce)
  checkArgument("options", options, having({ name: "text", execute: required("function") }))
  // Safe: these are the members of the options that are read here.
  const given = options as ToolParts
  const toolName = given.name ?? given.execute.name
  const execute: Execute = (input, context, details) =>
    runEnforced(enforce, { toolName, toolUseId: callIdOf(details) }, input, (allowed) =>
      given.execute(allowed, context, details),
    )
  // Safe: `execute` keeps its signature, and `errorFunction` is only added where it was missing.
  return {
    ...options,
    // The framework would name the tool after our function.
    name: toolName,
    execute,
    // The framework's default hides every message; with an output schema its default is to reject the run.
    ...(given.errorFunction === undefined && given.outputSchema === undefined && { errorFunction: failureText }),
  } as ToolOptions<Parameters, Context, OutputSchema>
}

/**
 * The same tools, each of whose calls must pass the policy: function tools that are already made, such as those of
 * `getAllMcpTools()`. They catch their own exceptions, so a failed tool is an output here and not reported as a failure.
 */
export function enforceTools<Each extends Tool<never>>(tools: readonly Each[], enforce: EnforceOptions): Each[] {
  checkOptions("enforceTools", enforce)
  checkArgument("tools", tools, listOf("object"))
  return tools.map((tool) => {
    // Safe: these are the members of a tool that are read here.
    const { type, name, invoke, outputSchema } = tool as ReadyTool
    if (type !== "function" || invoke === undefined) {
      rejectUnenforced(enforce, name ?? "a tool", `it is a ${type} tool, which the framework or the provider runs`)
      return tool
    }
    return copyOf(tool, { invoke: enforcedInvoke({ name, invoke: invoke.bind(tool), outputSchema }, enforce) })
  })
}

interface ToolParts {
  readonly name?: string
  readonly execute: Execute
  readonly errorFunction?: unknown
  readonly outputSchema?: unknown
}

interface ReadyTool {
  readonly type: string
  readonly name: string
  readonly invoke?: Invoke
  readonly outputSchema?: unknown
}

type FunctionTool = Pick<ReadyTool, "name" | "outputSchema"> & { readonly invoke: Invoke }

type Execute = (input: unknown, context?: unknown, details?: CallDetails) => unknown
type Invoke = (context: unknown, input: string, details?: CallDetails) => Promise<unknown>

interface CallDetails {
  readonly toolCall?: { readonly callId?: string }
}

/** The text of the arguments is passed on as it came, unless the policy changed them. */
function enforcedInvoke({ name: toolName, invoke, outputSchema }: FunctionTool, enforce: EnforceOptions): Invoke {
  return async (context, text, details) => {
    const { input, write } = parsed(text)
    try {
      return await runEnforced(enforce, { toolName, toolUseId: callIdOf(details) }, input, (allowed) =>
        invoke(context, allowed === input ? text : write(allowed), details),
      )
    } catch (error) {
      // A throw would end the run. Where a schema allows no other output, it has to.
      if (isBlocked(error) && outputSchema === undefined) return error.message
      throw error
    }
  }
}

/** A tool without parameters takes any text. */
function parsed(text: string): { readonly input: unknown; readonly write: (input: unknown) => string } {
  try {
    return { input: JSON.parse(text), write: JSON.stringify }
  } catch {
    return { input: text, write: String }
  }
}

function failureText(_context: unknown, error: unknown): string {
  return isBlocked(error) ? error.message : "An error occurred while running the tool. Please try again."
}

function isBlocked(error: unknown): error is LonghaulError {
  return LonghaulError.is(error) && error.code === "policy_denied"
}

function callIdOf(details: CallDetails | undefined): string | undefined {
  return details?.toolCall?.callId
}

/** With its hidden members and its prototype, which the framework uses. */
function copyOf<Each extends object>(tool: Each, changed: Partial<Record<string, unknown>>): Each {
  const copy: Each = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool))
  return Object.defineProperties(copy, Object.getOwnPropertyDescriptors(changed))
}
