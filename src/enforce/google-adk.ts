// biome-ignore lint/suspicious/noTsIgnore: users have the package, and then there is no error to expect.
/** @ts-ignore The package is an optional peer: without it these types are `any`. */

import type { ToolInputParameters, ToolOptions } from "@google/adk"
import { BlockedError, LonghaulError } from "../contract/error.ts"
import { checkArgument, having, required } from "../lib/schema/shape.ts"
import { checkFailure, checkOutput } from "../policy/service/run-tool.ts"
import type { ToolUse } from "../policy/service/tool-use.ts"
import {
  type AllowedCall,
  allowCall,
  checkOptions,
  type EnforceOptions,
  rejectUnenforced,
  runEnforced,
} from "./enforced-call.ts"
import { UnusedCallbacks } from "./google-adk-callbacks.ts"

export type { EnforceOptions } from "./enforced-call.ts"

/**
 * The same options, for `FunctionTool` of `@google/adk`: each call must pass the policy, before it runs and with its output. A call
 * that is not allowed throws `BlockedError`, and the framework passes its message to the model.
 */
export function enforceTool<Parameters extends ToolInputParameters>(
  options: ToolOptions<Parameters>,
  enforce: EnforceOptions,
): ToolOptions<Parameters> {
  checkOptions("enforceTool", enforce)
  checkArgument("options", options, having({ name: "text", execute: required("function") }))
  // Safe: these are the members of the options that are read here.
  const given = options as { readonly name?: string; readonly execute: Execute }
  const toolName = given.name ?? given.execute.name
  const execute: Execute = (input, context) =>
    runEnforced(
      enforce,
      { toolName, toolUseId: context?.functionCallId, agent: context?.agentName },
      input,
      (allowed) => given.execute(allowed, context),
    )
  // The framework would name the tool after our function.
  return { ...options, name: toolName, execute }
}

export interface PolicyPluginOptions extends Omit<EnforceOptions, "sessionId"> {
  /** Default: the id of the framework's session. */
  readonly sessionId?: string
}

/**
 * A plugin for the `Runner` of `@google/adk`: each call of any tool must pass the policy, before it runs and with its output. Must be
 * the first plugin: one before it that returns a value keeps it from being asked. It never throws, because the framework then asks the
 * model again indefinitely; the model receives `{ error }`.
 */
export class PolicyPlugin extends UnusedCallbacks {
  readonly name = "longhaul_policy"
  readonly #options: PolicyPluginOptions
  /** By the context of the call, which is the same object in all callbacks. Null: the model has received our refusal. */
  readonly #calls = new WeakMap<object, AllowedCall | null>()

  constructor(options: PolicyPluginOptions) {
    super()
    checkArgument("options", options, "object")
    checkOptions("PolicyPlugin", { sessionId: "the framework's", ...options })
    this.#options = options
  }

  async beforeToolCallback({ tool, toolArgs, toolContext }: ToolCall): Promise<Refusal | undefined> {
    return this.#refuse(toolContext, async () => {
      if ("agent" in tool) {
        rejectUnenforced(this.#options, tool.name, "the framework runs its agent without the plugins of this runner")
      }
      const allowed = await this.#allow(tool, toolArgs, toolContext)
      if (allowed.input !== toolArgs) replaceMembers(toolArgs, allowed.input)
      this.#calls.set(toolContext, { ...allowed, input: JSON.stringify(toolArgs) })
    })
  }

  async afterToolCallback({ tool, toolArgs, toolContext, result }: ToolResult): Promise<Refusal | undefined> {
    const call = this.#calls.get(toolContext)
    if (call === null) return undefined
    return this.#refuse(toolContext, async () => {
      if (call !== undefined && call.input !== JSON.stringify(toolArgs)) {
        throw new BlockedError(`The arguments of ${tool.name} changed after the policy decided.`)
      }
      await checkOutput(this.#options.policy, call?.use ?? this.#use(tool, toolArgs, toolContext), result)
    })
  }

  async onToolErrorCallback({ tool, toolArgs, toolContext, error }: ToolFailure): Promise<Refusal | undefined> {
    return this.#refuse(toolContext, async () => {
      const use = this.#calls.get(toolContext)?.use ?? this.#use(tool, toolArgs, toolContext)
      await checkFailure(this.#options.policy, use, error)
    })
  }

  /** The provider runs its own tools while it answers, so the request is the last moment to stop them. */
  async beforeModelCallback({ llmRequest }: ModelRequest): Promise<ModelRefusal | undefined> {
    const foreign = (llmRequest.config?.tools ?? [])
      .flatMap((tool) => Object.keys(tool))
      .find((key) => key !== "functionDeclarations")
    if (foreign === undefined) return undefined
    try {
      rejectUnenforced(this.#options, foreign, "the model's provider runs it")
      return undefined
    } catch (error) {
      return { errorCode: "POLICY_CONFIG_INVALID", errorMessage: failureMessage(error) }
    }
  }

  #allow(tool: NamedTool, toolArgs: Arguments, context: ToolContext): Promise<AllowedCall> {
    const { functionCallId: toolUseId, agentName: agent } = context
    const session = { policy: this.#options.policy, sessionId: this.#options.sessionId ?? context.sessionId }
    return allowCall(session, { toolName: tool.name, toolUseId, agent }, toolArgs)
  }

  /** For an output whose call another plugin handled. */
  #use(tool: NamedTool, toolArgs: Arguments, { functionCallId, sessionId, agentName }: ToolContext): ToolUse {
    return {
      sessionId: this.#options.sessionId ?? sessionId,
      toolName: tool.name,
      toolInput: JSON.parse(JSON.stringify(toolArgs)),
      ...(functionCallId !== undefined && { toolUseId: functionCallId }),
      agent: agentName,
    }
  }

  async #refuse(context: object, check: () => Promise<void>): Promise<Refusal | undefined> {
    try {
      await check()
      return undefined
    } catch (error) {
      this.#calls.set(context, null)
      return { error: failureMessage(error) }
    }
  }
}

type Execute = (input: unknown, context?: ToolContext) => unknown
type Arguments = Record<string, unknown>
type Refusal = { readonly error: string }
type ModelRefusal = { readonly errorCode: string; readonly errorMessage: string }

interface NamedTool {
  readonly name: string
}

interface ToolContext {
  readonly functionCallId?: string
  readonly sessionId: string
  readonly agentName: string
}

interface ToolCall {
  readonly tool: NamedTool
  readonly toolArgs: Arguments
  readonly toolContext: ToolContext
}

interface ToolResult extends ToolCall {
  readonly result: unknown
}

interface ToolFailure extends ToolCall {
  readonly error: unknown
}

interface ModelRequest {
  readonly llmRequest: { readonly config?: { readonly tools?: readonly object[] } }
}

/** Only our own messages are for the model. */
function failureMessage(error: unknown): string {
  return LonghaulError.is(error) ? error.message : "The policy failed."
}

/** The framework runs the object that it passed. The policy received a copy, so the new members are no parts of it. */
function replaceMembers(target: Arguments, source: unknown): void {
  for (const key of Object.keys(target)) delete target[key]
  Object.assign(target, source)
}
