import type { OutputUnit, Schema, SchemaDraft, Validator } from "@cfworker/json-schema"
import type { Json, JsonSchema } from "../contract/json.ts"
import type { LinearPattern } from "./linear-pattern.ts"
import { linearPatterns, withoutPatterns } from "./schema/linear-schema.ts"
import { formatPath } from "./standard-schema.ts"

/**
 * All mismatches of a value with a schema; empty: it matches. `whole` is the name of the value. A promise only for
 * the first value of a schema. Throws for a hostile value or a broken schema.
 */
export function schemaIssues(
  schema: JsonSchema,
  value: Json,
  whole: string,
): readonly string[] | Promise<readonly string[]> {
  const patterns = patternsOf.get(schema)
  if (validatorClass === undefined || patterns === undefined) {
    return prepare(schema).then(() => schemaIssues(schema, value, whole))
  }
  if (hasInfinity(value)) return [`${whole}: has a number that is too large`]
  const checked = patterns.size === 0 ? schema : withoutPatterns(schema, value, patterns)
  if (checked === undefined) return [`${whole}: is too long to be checked against the patterns of its schema`]
  const { valid, errors } = validatorFor(checked).validate(value)
  return valid ? [] : describe(errors, whole)
}

const patternsOf = new WeakMap<JsonSchema, ReadonlyMap<string, LinearPattern>>()

async function prepare(schema: JsonSchema): Promise<void> {
  if (validatorClass === undefined) await loadValidatorClass()
  patternsOf.set(schema, await linearPatterns(schema))
}

/** JSON can have `1e400`, which JavaScript reads as a number that JSON cannot have. */
function hasInfinity(value: Json): boolean {
  if (typeof value === "number") return !Number.isFinite(value)
  if (typeof value !== "object" || value === null) return false
  return Object.values(value).some((each: Json) => hasInfinity(each))
}

let validatorClass: typeof Validator | undefined

/** Imported with the first value that needs it, to keep it out of the start-up time. */
async function loadValidatorClass(): Promise<void> {
  validatorClass = (await import("@cfworker/json-schema")).Validator
}

const compiled = new WeakMap<JsonSchema, Validator>()

function validatorFor(schema: JsonSchema): Validator {
  let validator = compiled.get(schema)
  if (validator === undefined) {
    if (validatorClass === undefined) throw new Error("The schema library is not loaded.")
    // A clone, because the library annotates the schema it compiles, and ours is frozen.
    const copy: Schema = structuredClone(schema)
    validator = new validatorClass(copy, draftOf(copy), false)
    compiled.set(schema, validator)
  }
  return validator
}

function draftOf(schema: Schema): SchemaDraft {
  const dialect = typeof schema.$schema === "string" ? schema.$schema : ""
  if (dialect.includes("draft-04")) return "4"
  if (dialect.includes("draft-06") || dialect.includes("draft-07")) return "7"
  return dialect.includes("2019-09") ? "2019-09" : "2020-12"
}

/** These only say that something below them is wrong, which has its own entry. */
const wrappers: ReadonlySet<string> = new Set([
  "$ref",
  "$recursiveRef",
  "allOf",
  "if",
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "dependentSchemas",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
])

const maxIssues = 20

function describe(errors: readonly OutputUnit[], whole: string): readonly string[] {
  const issues = new Set<string>()
  for (const error of errors) if (!wrappers.has(error.keyword)) issues.add(describeOne(error, whole))
  const all = issues.size > 0 ? [...issues] : [`${whole}: does not match the schema`]
  return all.length <= maxIssues ? all : [...all.slice(0, maxIssues), `… ${all.length - maxIssues} more`]
}

function describeOne({ keyword, instanceLocation, error }: OutputUnit, whole: string): string {
  const keys = keysOf(instanceLocation)
  const quoted = /"(.*?)"/.exec(error)?.[1] ?? ""
  switch (keyword) {
    case "required":
      return `${formatPath([...keys, quoted], whole)}: is required`
    case "false":
      return `${formatPath(keys, whole)}: is not allowed here`
    case "type":
      return `${formatPath(keys, whole)}: must be ${error.slice(error.indexOf("Expected ") + 9, -1).replaceAll('"', "")}, not ${quoted}`
    default:
      return `${formatPath(keys, whole)}: ${error.replace(/^Instance /, "").replace(/\.$/, "")}`
  }
}

/** A JSON pointer such as `#/files/0/path`, percent-encoded. */
function keysOf(pointer: string): PropertyKey[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
      return /^\d{1,9}$/.test(key) ? Number(key) : key
    })
}
