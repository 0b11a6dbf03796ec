import { LonghaulError } from "../../contract/error.ts"
import type { RecordBody, RecordedInput } from "../../contract/event.ts"
import type { Json, JsonSchema } from "../../contract/json.ts"
import type { StructuredOutput, StructuredSource } from "../../contract/result.ts"
import type { OutputSchemas, ResumeInput, RunInput } from "../../contract/run.ts"
import type { StandardSchema } from "../../contract/standard-schema.ts"
import { orAborted } from "../../lib/abort.ts"
import { givenSchema } from "../../lib/given-schema.ts"
import { whyNotJson } from "../../lib/json.ts"
import { schemaIssues } from "../../lib/json-schema.ts"
import { oneOf } from "../../lib/known-keys.ts"
import { describeStandardIssue, isStandardSchema } from "../../lib/standard-schema.ts"
import type { Redactor } from "../../policy/redact/redactor.ts"
import { findJson } from "./find-json.ts"

/** The form that a run's answer must have. */
export interface OutputForm {
  readonly schema: JsonSchema
  readonly mode: "strict" | "forward"
  /** The caller's own check, which may also change the value. */
  readonly standard?: StandardSchema
  /** Its name in the configuration. */
  readonly name?: string | undefined
}

/** `schemas`: those that can be named. */
export function outputForm(
  { outputSchema: given, outputMode = "strict" }: Pick<RunInput, "outputSchema" | "outputMode">,
  schemas: OutputSchemas,
  setting = "outputSchema",
): OutputForm | undefined {
  oneOf("outputMode", outputMode, ["strict", "forward"])
  if (given === undefined) return undefined
  const outputSchema = typeof given === "string" ? namedSchema(given, schemas) : given
  const schema = givenSchema(
    outputSchema,
    { kind: "output", setting },
    (what, fix, cause) => new LonghaulError("config_invalid", `The run has ${what}.`, { fix, cause }),
  )
  const name = schemaName(given, schemas)
  return {
    schema,
    mode: outputMode,
    ...(isStandardSchema(outputSchema) && { standard: outputSchema }),
    name,
  }
}

/** The schemas of a configuration, each of which can be converted to JSON Schema. */
export function checkedSchemas(given: OutputSchemas = {}): OutputSchemas {
  for (const [name, outputSchema] of Object.entries(given)) outputForm({ outputSchema }, {}, `schemas.${name}`)
  return { ...given }
}

/** The name of a schema that is given by its name or as a registered value. */
export function schemaName(given: RunInput["outputSchema"], schemas: OutputSchemas): string | undefined {
  if (typeof given === "string") return given
  return Object.keys(schemas).find((name) => schemas[name] === given)
}

function namedSchema(name: string, schemas: OutputSchemas): OutputSchemas[string] {
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
  if (schema !== undefined) return schema
  throw new LonghaulError("config_invalid", `The output schema ${JSON.stringify(name)} is not registered.`, {
    fix: `Pass it as schemas.${name} to createRuntime.`,
  })
}

/** The form of a resumed run: what the journal has, with the own checks of a named schema. */
export function recalledForm(
  { outputSchema, outputMode = "strict", outputCheck }: RecordedInput,
  given: Pick<ResumeInput, "outputSchema">,
  schemas: OutputSchemas,
): OutputForm | undefined {
  if (given.outputSchema !== undefined) return outputForm({ outputSchema: given.outputSchema, outputMode }, schemas)
  const recorded = outputForm({ ...(outputSchema && { outputSchema }), outputMode }, schemas)
  const { name } = outputCheck ?? {}
  if (!recorded || name === undefined) return recorded
  const registered = namedSchema(name, schemas)
  return { ...recorded, name, ...(isStandardSchema(registered) && { standard: registered }) }
}

/** How the journal names the part of a form that it cannot store. */
export function recordedCheck({ standard, name }: OutputForm): Pick<RecordedInput, "outputCheck"> {
  if (standard === undefined && name === undefined) return {}
  return { outputCheck: name === undefined ? {} : { name } }
}

/** A resumed run whose answer is checked less than the caller demanded has a warning. */
export function checkWarnings(input: RecordedInput | undefined, form: OutputForm | undefined): readonly RecordBody[] {
  if (!input?.outputCheck || input.outputCheck.name !== undefined || form?.standard) return []
  const message =
    "The output schema has checks of its own, which are not in the journal: the answer is only checked against its JSON Schema. " +
    "Pass outputSchema to resume, or register the schema in createRuntime({ schemas }) and start runs with its name."
  return [{ type: "warning", code: "output_schema_missing", message }]
}

/** Secrets in the schema become references, as they do in the answer that is checked against it. */
export function redactedForm({ json }: Pick<Redactor, "json">, form: OutputForm): OutputForm {
  const schema = json(form.schema)
  return schema === form.schema ? form : { ...form, schema }
}

/** The result of checking an answer. */
export type OutputVerdict =
  | { readonly output: StructuredOutput; readonly validationError?: LonghaulError }
  | { readonly output?: never; readonly validationError: LonghaulError }

/** Checks the answers of one run against its form. In `strict` mode the model gets one chance to correct an answer. */
export class AnswerCheck {
  readonly #form: OutputForm
  readonly #enforced: boolean
  #isReported = false
  #verdict: OutputVerdict | undefined

  /** `enforced`: the provider makes the model follow the schema. */
  constructor(form: OutputForm, enforced: boolean) {
    this.#form = form
    this.#enforced = enforced
  }

  /** Returns a correction request for the model; undefined: the verdict is final. */
  async review(text: string): Promise<string | undefined> {
    this.#verdict = await this.#evaluate(text)
    const { validationError } = this.#verdict
    if (validationError === undefined || this.#form.mode === "forward" || this.#isReported) return undefined
    this.#isReported = true
    return `${validationError.message}\n\nAnswer again with JSON alone that fits this JSON Schema:\n${JSON.stringify(this.#form.schema)}`
  }

  /** The problem of the last reviewed answer. */
  get validationError(): LonghaulError | undefined {
    return this.#verdict?.validationError
  }

  /** Returns the verdict of the last review, or checks the text if there was none. Undefined: the signal ended that check. */
  async conclude(text: string, signal: AbortSignal): Promise<OutputVerdict | undefined> {
    return this.#verdict ?? (await orAborted(this.#evaluate(text), signal))
  }

  async #evaluate(text: string): Promise<OutputVerdict> {
    const { schema, mode, standard } = this.#form
    const found = findJson(text)
    const unfit = found && whyNotJson(found.value, "answer")
    if (found === undefined || unfit !== undefined) {
      const message = unfit === undefined ? "The answer is not JSON." : `The answer is not usable JSON: ${unfit}.`
      const validationError = new LonghaulError("output_not_json", message, { fix: RAISE })
      return mode === "forward" ? { output: { data: text, source: "raw" }, validationError } : { validationError }
    }
    const checked = await check(found.value, schema, standard)
    if (checked.issues.length === 0) return { output: { data: checked.data, source: this.#source(found.whole) } }
    const message = `The answer does not fit its schema:\n${checked.issues.join("\n")}`
    const validationError = new LonghaulError("output_schema_mismatch", message, { fix: RAISE })
    return mode === "forward"
      ? { output: { data: found.value, source: "mismatch" }, validationError }
      : { validationError }
  }

  #source(whole: boolean): StructuredSource {
    if (this.#isReported) return "repair"
    if (!whole) return "extracted"
    return this.#enforced ? "provider" : "text"
  }
}

const RAISE = "Simplify the schema, describe the expected output in the task, or use a stronger model."

/** Checks the schema first, then the caller's own validation, whose value must be JSON. */
async function check(
  value: Json,
  schema: JsonSchema,
  standard: StandardSchema | undefined,
): Promise<{ readonly data: Json; readonly issues: readonly string[] }> {
  try {
    const issues = await schemaIssues(schema, value, "answer")
    if (issues.length > 0 || standard === undefined) return { data: value, issues }
    const result = await standard["~standard"].validate(value)
    if (result.issues)
      return { data: value, issues: result.issues.map((issue) => describeStandardIssue(issue, "answer")) }
    const unfit = whyNotJson(result.value, "answer")
    if (unfit !== undefined) return { data: value, issues: [`${unfit} after the schema's own conversion`] }
    // Safe: that is what it parses.
    return { data: JSON.parse(JSON.stringify(result.value) ?? "null") as Json, issues: [] }
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error
    return { data: value, issues: [`answer: could not be checked (${kind})`] }
  }
}
