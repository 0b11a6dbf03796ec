import { isJsonObject } from "../lib/json.ts"
import { checkArgument, recordOf } from "../lib/schema/shape.ts"
import { checkFailure, checkOutput, messageOf } from "../policy/service/run-tool.ts"
import { allowCall, checkOptions, type EnforceOptions, rejectUnenforced, runEnforced } from "./enforced-call.ts"

export type { EnforceOptions } from "./enforced-call.ts"

/**
 * The same tools of the AI SDK (`ai` 6 or 7), each of whose calls must pass the policy: before it runs, and with its output. A call
 * that is not allowed throws `BlockedError` from `execute`, which the SDK reports as `tool-error`. The types stay those of the tools.
 */
export function enforceTools<Tools extends Readonly<Record<string, object>>>(
  tools: Tools,
  options: EnforceOptions,
): Tools {
  checkOptions("enforceTools", options)
  checkArgument("tools", tools, recordOf("object"))
  const wrapped = Object.entries(tools).map(([name, tool]) => [name, enforced(name, tool, options)])
  // Safe: each tool keeps its members, and the functions that are replaced keep their signatures.
  return Object.fromEntries(wrapped) as Tools
}

/** The part of a tool that is replaced. */
interface AiTool {
  readonly type?: unknown
  readonly execute?: unknown
  readonly toModelOutput?: unknown
}

type Execute = (input: unknown, options: CallOptions) => unknown

interface CallOptions {
  readonly toolCallId?: string
}

function enforced(name: string, tool: AiTool, options: EnforceOptions): AiTool {
  const { execute, toModelOutput } = tool
  if (typeof execute !== "function") {
    const isProviders = tool.type === "provider" || tool.type === "provider-defined"
    rejectUnenforced(options, name, isProviders ? "the model's provider runs it" : "it has no execute function")
    return tool
  }
  // Safe: this is the SDK's signature of both functions.
  const run = execute.bind(tool) as Execute
  return {
    ...tool,
    execute: isAsyncGenerator(execute) ? streaming(name, run, options) : whole(name, run, options),
    ...(typeof toModelOutput === "function" && {
      // Safe: as above.
      toModelOutput: shown(name, toModelOutput.bind(tool) as ToModelOutput, options),
    }),
  }
}

function whole(toolName: string, run: Execute, options: EnforceOptions): Execute {
  return (input, call) =>
    runEnforced(options, { toolName, toolUseId: call?.toolCallId }, input, async (allowed) =>
      lastOf(await run(allowed, call)),
    )
}

/** The SDK shows each value of a generator at once, so each is checked before it is passed on. */
function streaming(toolName: string, run: Execute, options: EnforceOptions): Execute {
  return async function* (input, call) {
    const { policy } = options
    const { use, input: allowed } = await allowCall(options, { toolName, toolUseId: call?.toolCallId }, input)
    // Safe: it is an async generator function.
    const values = run(allowed, call) as AsyncGenerator<unknown, void>
    try {
      for (;;) {
        const next = await values.next().catch(async (error: unknown) => {
          await checkFailure(policy, use, error)
          throw error
        })
        if (next.done) return
        await checkOutput(policy, use, next.value)
        yield next.value
      }
    } finally {
      await values.return()
    }
  }
}

/** A plain function that returns an iterable: only its last value is the output, so the others are not shown. */
async function lastOf(output: unknown): Promise<unknown> {
  if (!isAsyncIterable(output)) return output
  let last: unknown
  for await (const value of output) last = value
  return last
}

type ToModelOutput = (call: {
  readonly toolCallId?: string
  readonly input: unknown
  readonly output: unknown
}) => unknown

/** The model sees this instead of the output, and it may show what JSON of the output does not. */
function shown(toolName: string, toModelOutput: ToModelOutput, { policy, sessionId }: EnforceOptions): ToModelOutput {
  return async (call) => {
    const { toolCallId, input } = call
    const use = {
      sessionId,
      toolName,
      // Safe: the SDK parsed the arguments from JSON; other members are dropped when the policy writes them.
      toolInput: isJsonObject(input) ? input : {},
      ...(toolCallId !== undefined && { toolUseId: toolCallId }),
    }
    const output = await toModelOutput(call)
    try {
      await checkOutput(policy, use, output)
      return output
    } catch (blocked) {
      return { type: "error-text", value: messageOf(blocked) }
    }
  }
}

function isAsyncGenerator(execute: object): boolean {
  return execute.constructor.name === "AsyncGeneratorFunction"
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value
}
