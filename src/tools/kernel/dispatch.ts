import type { Artifact } from "../../contract/artifacts.ts"
import type { ContentPart } from "../../contract/content.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { ToolException } from "../../contract/hooks.ts"
import type { Json } from "../../contract/json.ts"
import type { Logger } from "../../contract/run.ts"
import {
  type Tool,
  type ToolContext,
  ToolError,
  type ToolErrorCode,
  type ToolOutcome,
  type ToolSpec,
} from "../../contract/tool.ts"
import { onAbort } from "../../lib/abort.ts"
import { contain, containedLogger } from "../../lib/contained.ts"
import { plainText } from "../../lib/content.ts"
import { logger, texts, tool } from "../../lib/schema/contract-shapes.ts"
import { checkArgument, checkShape, listOf, type Shape } from "../../lib/schema/shape.ts"
import { redactParts, toParts } from "./content-parts.ts"
import { effectOf } from "./effect-of.ts"
import { actingTool, resumeOf } from "./inner-of.ts"
import { boundError, cutParts, fits, type Kept, type OutputLimits } from "./output.ts"
import { describeException } from "./tool-exception.ts"
import { type CheckedCall, validateCall } from "./validate-call.ts"

/** A fixed set of tools. It lists exactly the tools that it runs. Stateless between calls. */
export interface Dispatcher {
  /** The same array each time. */
  listTools(): readonly ToolSpec[]
  tool(name: string): Tool | undefined
  /** Every reason why a tool would reject these arguments; empty if it accepts them. */
  check(name: string, args: Json): Promise<readonly string[]>
  /** The outcome of a call that is rejected for its arguments; undefined: its tool accepts them, or cannot check them. */
  rejection(call: DispatchCall, redact?: Redact): Promise<ToolOutcome | undefined>
  /**
   * Selects, validates, runs, redacts, bounds and serialises one call. Never rejects, whatever the tool does. `redact`: used
   * instead of the dispatcher's. `offload`: gets results before they are cut.
   */
  dispatch(
    call: DispatchCall,
    context: ToolContext,
    keep?: KeepWhole,
    redact?: Redact,
    offload?: OffloadResult,
  ): Promise<ToolOutcome>
  /** The same for hosts without a loop. */
  callTool(
    name: string,
    args: Json,
    context: ToolContext,
    keep?: KeepWhole,
  ): Promise<{ isError: boolean; text: string }>
}

/** Saves the full text of a result that is too long and returns its path. Null: not saved. */
export type KeepWhole = (artifact: Artifact) => string | null | Promise<string | null>

/** Stores a result elsewhere, and returns what the model gets instead. Null: it stays as it is. */
export type OffloadResult = (
  parts: readonly ContentPart[],
) => readonly ContentPart[] | null | Promise<readonly ContentPart[] | null>

/** Replaces the secrets in a text. */
export type Redact = (text: string) => string

export interface DispatchCall {
  readonly name: string
  readonly args: Json
  /** Why the arguments are unusable, if the model's text was not JSON. */
  readonly invalid?: string
  /** An earlier process began the call: a tool with `resume` resumes it. */
  readonly resumed?: boolean
}

export interface DispatcherOptions {
  /** Default 256 KB. A tool's own limit applies if it is lower. */
  readonly maxOutputBytes?: number
  /** Default 100,000. */
  readonly maxCharacters?: number
  /** Names of the listed and callable tools. Default: all. */
  readonly allowed?: readonly string[]
  /** Names that are neither listed nor callable. */
  readonly disabled?: readonly string[]
  readonly logger?: Logger | undefined
  /** Receives exceptions of tools other than `ToolError`. */
  readonly onException?: ((exception: ToolException) => void) | undefined
  /** Applied to results before they are cut or saved, and to exceptions before they are reported. */
  readonly redact?: Redact
}

/** Runs tool calls without a loop: selects, validates, runs, bounds and serialises. */
export function createDispatcher(tools: readonly Tool[], options: DispatcherOptions = {}): Dispatcher {
  checkArgument("tools", tools, listOf(tool))
  checkShape<DispatcherOptions>("createDispatcher", options, optionsShape)
  const { maxOutputBytes = 256 * 1024, maxCharacters = 100_000 } = options
  const logger = options.logger && containedLogger(options.logger)
  const byName = indexByName(selectTools(tools, options))
  const specs = Object.freeze([...byName.values()].map(toSpec))
  const knownNames = [...byName.keys()].join(", ") || "none"
  const errorLimits: OutputLimits = { maxBytes: maxOutputBytes, maxCharacters }

  async function dispatch(
    call: DispatchCall,
    given: ToolContext,
    keep?: KeepWhole,
    redact = options.redact ?? unchanged,
    offload?: OffloadResult,
  ): Promise<ToolOutcome> {
    const context = given.redact || redact === unchanged ? given : { ...given, redact }
    const failed = (code: string, message: string): ToolOutcome => failure(code, redact(message), errorLimits)
    const tool = byName.get(call.name)
    if (tool === undefined)
      return failed("not_found", `"${call.name}" is not an available tool. Available tools: ${knownNames}.`)
    if (call.invalid !== undefined) return failed("invalid_input", `The arguments cannot be used: ${call.invalid}`)
    let step: ToolException["step"] = "validate"
    try {
      const checking = validateCall(tool, call.args)
      const input = isThenable(checking) ? await settledOrAborted(checking, context.signal) : checking
      if (input === abandoned || context.signal.aborted) {
        return failed("aborted", `${tool.name} was not started: the run is being stopped.`)
      }
      if (!input.ok) return failed("invalid_input", describeIssues(input))

      step = "run"
      const resume = call.resumed ? resumeOf(tool, input.args) : undefined
      const returned = resume ? resume(context) : tool.run(input.args, context)
      const value = isThenable(returned) ? await settledOrAborted(returned, context.signal) : returned
      if (value === abandoned) return stopped(tool, call.args, errorLimits)

      step = "serialise"
      const parts = redactParts(toParts(value), redact)
      const offloaded = offload?.(parts) ?? null
      const short = isThenable(offloaded) ? await settledOrAborted(offloaded, context.signal) : offloaded
      if (short !== null && short !== abandoned) return { status: "ok", output: short }
      const acting = actingTool(tool, call.args)
      const own = [tool, acting].flatMap((each) => each.maxOutputBytes ?? [])
      const limits = { maxBytes: Math.min(maxOutputBytes, ...own), maxCharacters }
      if (acting.bounded || fits(parts, limits)) return { status: "ok", output: parts }
      return { status: "ok", output: cutParts(parts, limits, keep && (await kept(parts, tool.name, context, keep))) }
    } catch (error) {
      const toolError = readToolError(error)
      if (toolError !== undefined) return inDoubt(tool, call, toolError.code, failed(toolError.code, toolError.message))
      if (step === "run" && context.signal.aborted) return stopped(tool, call.args, errorLimits)
      report(tool.name, () => describeException(error, tool.name, step, context, redact))
      return failed("internal", `The tool ${tool.name} ${whatFailed[step]}.`)
    }
  }

  function report(tool: string, describe: () => ToolException): void {
    logger?.warn("A tool failed.", { tool, code: "internal" })
    if (!logger?.debug && !options.onException) return
    const exception = describe()
    logger?.debug?.("A tool threw an exception.", { ...exception })
    contain(() => options.onException?.(exception))
  }

  return Object.freeze<Dispatcher>({
    listTools: () => specs,
    tool: (name) => byName.get(name),
    check: (name, args) => issuesOf(byName.get(name), args),
    rejection: ({ name, args }, redact = options.redact ?? unchanged) =>
      rejectionOf(byName.get(name), args, (message) => failure("invalid_input", redact(message), errorLimits)),
    dispatch,
    async callTool(name, args, context, keep) {
      const { status, output } = await dispatch({ name, args }, context, keep)
      return { isError: status !== "ok", text: plainText(output, "\n") }
    },
  })
}

async function issuesOf(tool: Tool | undefined, args: Json): Promise<readonly string[]> {
  try {
    const input = tool && (await validateCall(tool, args))
    return input?.ok === false ? input.issues : []
  } catch {
    return ["arguments: the tool cannot check them"]
  }
}

async function rejectionOf(
  tool: Tool | undefined,
  args: Json,
  failed: (message: string) => ToolOutcome,
): Promise<ToolOutcome | undefined> {
  try {
    const input = tool && (await validateCall(tool, args))
    return input?.ok === false ? failed(describeIssues(input)) : undefined
  } catch {
    return undefined
  }
}

function describeIssues({ issues, rejectedBy }: CheckedCall & { readonly ok: false }): string {
  return `Invalid arguments for ${rejectedBy.name}:\n${issues.join("\n")}`
}

function failure(code: string, message: string, limits: OutputLimits): ToolOutcome {
  return { status: "error", output: [boundError(code, message, limits)] }
}

/** A call without an effect cannot leave anything in doubt. */
function inDoubt(tool: Tool, { args }: DispatchCall, code: string, outcome: ToolOutcome): ToolOutcome {
  return code === "outcome_unknown" && effectOf(tool, args) !== "none" ? { ...outcome, status: "unknown" } : outcome
}

/** It is unknown how far a tool with effects got: its outcome is flagged, not reported as a failure. */
function stopped(tool: Tool, args: Json, limits: OutputLimits): ToolOutcome {
  const harmless = effectOf(tool, args) === "none"
  const message = `${tool.name} was stopped while it ran${harmless ? "." : "; it may or may not have taken effect."}`
  return { status: harmless ? "error" : "unknown", output: [boundError("aborted", message, limits)] }
}

const unchanged: Redact = (text) => text

const optionsShape: Shape<DispatcherOptions> = {
  maxOutputBytes: "number",
  maxCharacters: "number",
  allowed: texts,
  disabled: texts,
  logger,
  onException: "function",
  redact: "function",
}

/**
 * The allowed tools that are not disabled. An unknown allowed name is an error that would otherwise go unnoticed, unless more
 * tools come later.
 */
export function selectTools(
  tools: readonly Tool[],
  { allowed, disabled = [] }: Pick<DispatcherOptions, "allowed" | "disabled">,
  moreComeLater = false,
): readonly Tool[] {
  const unknown = moreComeLater ? undefined : allowed?.find((name) => !tools.some((tool) => tool.name === name))
  if (unknown !== undefined) {
    throw new LonghaulError(
      "config_invalid",
      `allowedTools names ${JSON.stringify(unknown)}, which is not an available tool.`,
      {
        fix: `Use any of: ${tools.map(({ name }) => name).join(", ") || "(no tools are available)"}.`,
      },
    )
  }
  return tools.filter(({ name }) => (allowed?.includes(name) ?? true) && !disabled.includes(name))
}

/** Undefined if it was not to be saved. A failure is reported, but does not fail the tool. */
async function kept(
  parts: readonly ContentPart[],
  toolName: string,
  { callId, signal }: ToolContext,
  keep: KeepWhole,
): Promise<Kept | undefined> {
  const filename = `${fileNameOf(callId)}-${fileNameOf(toolName)}.txt`
  try {
    const bytes = new TextEncoder().encode(plainText(parts, "\n"))
    const path = await settledOrAborted(Promise.resolve(keep({ callId, toolName, filename, bytes })), signal)
    if (path === abandoned) return { failed: true }
    return typeof path === "string" && path !== "" ? { path } : undefined
  } catch {
    return { failed: true }
  }
}

/** Ids and names may come from servers and are not valid file names. */
function fileNameOf(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, ".").slice(0, 80)
}

const whatFailed: Readonly<Record<ToolException["step"], string>> = {
  validate: "could not check its arguments and was not started",
  run: "failed",
  serialise: "ran, but its return value cannot be serialised as JSON",
}

function indexByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    if (byName.has(tool.name)) {
      throw new LonghaulError("config_invalid", `Two tools are named ${JSON.stringify(tool.name)}.`, {
        fix: "Rename one of them, or disable one with `disabledTools`.",
      })
    }
    byName.set(tool.name, tool)
  }
  return byName
}

function toSpec({ name, description, inputSchema }: Tool): ToolSpec {
  return Object.freeze({ name, description, inputSchema })
}

function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  const mayHaveThen = (typeof value === "object" && value !== null) || typeof value === "function"
  return mayHaveThen && "then" in value && typeof value.then === "function"
}

const abandoned = Symbol("abandoned")

/** A tool that ignores its signal must not block the run: it is abandoned, and its late result is ignored. */
function settledOrAborted<Value>(running: PromiseLike<Value>, signal: AbortSignal): Promise<Value | typeof abandoned> {
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => resolve(abandoned))
    Promise.resolve(running).then(resolve, reject).then(forget)
  })
}

const toolErrorCodes: Readonly<Record<ToolErrorCode, true>> = {
  not_found: true,
  invalid_input: true,
  denied: true,
  conflict: true,
  timeout: true,
  aborted: true,
  io: true,
  outcome_unknown: true,
  internal: true,
}

/** Identified by name, because a tool may use another copy of this package. */
function readToolError(error: unknown): { readonly code: string; readonly message: string } | undefined {
  try {
    if (!(error instanceof ToolError || (error instanceof Error && error.name === "ToolError"))) return undefined
    const { code, message } = error as ToolError // Safe: both are checked on the next line.
    return Object.hasOwn(toolErrorCodes, code) && typeof message === "string" ? { code, message } : undefined
  } catch {
    return undefined
  }
}
