import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject, JsonObjectSchema, JsonSafe, JsonSchema } from "../../contract/json.ts"
import type { InferOutput, StandardObjectSchema, StandardSchema } from "../../contract/standard-schema.ts"
import type { Effect, Risk, Tool, ToolContext, ToolInput, UnknownOutcome, UsesOf } from "../../contract/tool.ts"
import { givenSchema } from "../../lib/given-schema.ts"
import { checkKeys, keys } from "../../lib/known-keys.ts"
import { describeStandardIssue, isStandardSchema } from "../../lib/standard-schema.ts"

/** The definition of a tool by its author. */
export interface ToolDefinition<Input extends StandardSchema | JsonSchema, Args, Output = unknown> {
  /** Letters, digits, `_` and `-`; at most 64. */
  readonly name: string
  /** For the model: what it does, what it returns, its limits. */
  readonly description: string
  /** A JSON Schema or a Standard Schema of an object. */
  readonly inputSchema: Input
  /** The use of a call, for the rules of policies. Default: unknown, so that refusals apply and permissions do not. */
  readonly uses?: UsesOf
  /** Default `once`: the safe choice. */
  readonly effect?: Effect
  /** May run in parallel with others of the same step. Default: true if the effect is `none`. */
  readonly concurrent?: boolean
  /** Default `low` if the effect is `none`, else `medium`. */
  readonly risk?: Risk
  /** Maximum bytes of text in its result. Default: the dispatcher's limit. */
  readonly maxOutputBytes?: number
  /** True if it limits its own text, so that the dispatcher does not cut it again. Default false. */
  readonly bounded?: boolean
  /** The treatment of a call whose process died before its outcome was recorded. Default: the run's setting. */
  readonly unknownOutcome?: UnknownOutcome
  /** For a call that a person answers instead of `run`: returns the question. The run pauses for the answer. */
  question?(args: Args): string
  /** Returns text, content parts or any JSON value. Throws `ToolError` to inform the model of a problem. */
  run(args: Args, context: ToolContext): Output | Promise<Output>
  /** Resumes a call that an earlier process began and did not finish. Default: its outcome is unknown. */
  resume?(args: Args, context: ToolContext): Output | Promise<Output>
}

/** Rejects a definition whose `run` returns a non-JSON value. */
type ReturnsJson<Output> = [Output] extends [JsonSafe<Output>]
  ? unknown
  : { readonly run: "Return text, content parts or JSON: no function, bigint, symbol, Map, Set or class instance." }

/**
 * A complete, frozen tool. With a Standard Schema `args` is its output; otherwise annotate `args` according to the
 * schema.
 */
export function defineTool<Schema extends StandardObjectSchema, Output>(
  definition: ToolDefinition<Schema, InferOutput<Schema>, Output> & ReturnsJson<Output>,
): Tool
export function defineTool<Args = JsonObject, Output = unknown>(
  definition: ToolDefinition<JsonObjectSchema, Args, Output> & ReturnsJson<Output>,
): Tool
export function defineTool(definition: ToolDefinition<StandardSchema | JsonSchema, never>): Tool {
  checkDefinition(definition)
  const { name, description, inputSchema, effect = "once", maxOutputBytes, bounded = false } = definition
  const { uses, unknownOutcome } = definition
  return Object.freeze<Tool>({
    name,
    description,
    inputSchema: toJsonSchema(name, inputSchema),
    ...(uses && { uses }),
    effect,
    concurrent: definition.concurrent ?? effect === "none",
    risk: definition.risk ?? (effect === "none" ? "low" : "medium"),
    ...(maxOutputBytes !== undefined && { maxOutputBytes }),
    ...(bounded && { bounded }),
    ...(unknownOutcome !== undefined && { unknownOutcome }),
    // Safe: a question for invalid arguments is never asked.
    ...(definition.question && { question: (args: Json) => definition.question?.(args as never) ?? "" }),
    ...(isStandardSchema(inputSchema) && { validate: (args: Json) => validateStandard(inputSchema, args) }),
    // Safe: the dispatcher passes only arguments that match the schema that types `run`.
    run: (args, context) => definition.run(args as never, context),
    ...(definition.resume && {
      // Safe for the same reason.
      resume: (args: unknown, context: ToolContext) => definition.resume?.(args as never, context),
    }),
  })
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/
const effects: readonly unknown[] = ["none", "repeatable", "once"] satisfies Effect[]
const unknownOutcomes: readonly unknown[] = ["tell", "pause"] satisfies UnknownOutcome[]
const risks: readonly unknown[] = ["low", "medium", "high"] satisfies Risk[]

const definitionKeys = keys<ToolDefinition<StandardSchema, never>>()(
  "name",
  "description",
  "inputSchema",
  "uses",
  "effect",
  "concurrent",
  "risk",
  "maxOutputBytes",
  "bounded",
  "unknownOutcome",
  "question",
  "run",
  "resume",
)

/** Authors may write plain JavaScript: a misspelt effect must not pass for a harmless one. */
function checkDefinition(definition: ToolDefinition<StandardSchema | JsonSchema, never>): void {
  checkKeys("defineTool", definition, definitionKeys)
  const { name, description, uses, effect, risk, maxOutputBytes, unknownOutcome, run } = definition
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw invalidTool(String(name), "has an invalid name", "Use 1 to 64 letters, digits, underscores or hyphens.")
  }
  if (typeof description !== "string" || description.trim() === "") {
    throw invalidTool(name, "has no description", "Add a `description` that tells the model what the tool does.")
  }
  if (typeof run !== "function") throw invalidTool(name, "has no `run` function", "Add `run(args, context)`.")
  if (uses !== undefined && typeof uses !== "function") {
    throw invalidTool(name, "has a `uses` that is not a function", "Pass a function of the arguments, or omit it.")
  }
  if (effect !== undefined && !effects.includes(effect)) {
    throw invalidTool(name, `has an unknown effect ${String(effect)}`, 'Use "none", "repeatable" or "once".')
  }
  if (risk !== undefined && !risks.includes(risk)) {
    throw invalidTool(name, `has an unknown risk ${String(risk)}`, 'Use "low", "medium" or "high".')
  }
  if (unknownOutcome !== undefined && !unknownOutcomes.includes(unknownOutcome)) {
    throw invalidTool(name, `has an unknown \`unknownOutcome\` ${String(unknownOutcome)}`, 'Use "tell" or "pause".')
  }
  if (maxOutputBytes !== undefined && !(Number.isSafeInteger(maxOutputBytes) && maxOutputBytes > 0)) {
    throw invalidTool(name, "has an invalid `maxOutputBytes`", "Use a whole number of bytes above 0, or omit it.")
  }
}

function toJsonSchema(name: string, input: StandardSchema | JsonSchema): JsonSchema {
  const schema = givenSchema(input, inputPlace, (what, fix, cause) => invalidTool(name, `has ${what}`, fix, cause))
  if (schema.type !== "object") {
    throw invalidTool(
      name,
      'has an input schema that is not of type "object"',
      'Set `inputSchema` to a schema of type "object".',
    )
  }
  return schema
}

const inputPlace = { kind: "input", setting: "inputSchema" }

async function validateStandard(schema: StandardSchema, args: Json): Promise<ToolInput> {
  const result = await schema["~standard"].validate(args)
  if (result.issues === undefined) return { ok: true, args: result.value }
  return { ok: false, issues: result.issues.map((issue) => describeStandardIssue(issue, "arguments")) }
}

function invalidTool(name: string, what: string, fix: string, cause?: unknown): LonghaulError {
  return new LonghaulError("config_invalid", `The tool ${JSON.stringify(name)} ${what}.`, { fix, cause })
}
