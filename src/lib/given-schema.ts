import type { LonghaulError } from "../contract/error.ts"
import type { Json, JsonObject, JsonSchema } from "../contract/json.ts"
import type { StandardSchema } from "../contract/standard-schema.ts"
import { isStandardSchema } from "./standard-schema.ts"

/** Describes the problem of a schema and its fix. */
export type SchemaProblem = (what: string, fix: string, cause?: unknown) => LonghaulError

/** Which schema it is: a word for people, and the name of the setting. */
export interface SchemaPlace {
  readonly kind: string
  readonly setting: string
}

/** A copy of the given schema as frozen JSON Schema, so that later changes do not affect what a model received. */
export function givenSchema(
  given: StandardSchema | JsonSchema,
  place: SchemaPlace,
  problem: SchemaProblem,
): JsonSchema {
  return deepFreeze(
    isStandardSchema(given) ? convertStandard(given, place, problem) : copyAsJson(given, place, problem),
  )
}

function convertStandard(schema: StandardSchema, place: SchemaPlace, problem: SchemaProblem): JsonSchema {
  const { jsonSchema, vendor } = schema["~standard"]
  if (jsonSchema === undefined) {
    throw problem(
      `an ${place.kind} schema of ${vendor}, which cannot be converted to JSON Schema`,
      `Use a version of ${vendor} that supports Standard JSON Schema, or pass \`${place.setting}\` as a JSON Schema.`,
    )
  }
  let converted: Record<string, unknown>
  try {
    converted = jsonSchema.input({ target: "draft-2020-12" })
  } catch (cause) {
    throw problem(
      `an ${place.kind} schema that JSON Schema cannot express`,
      `Use only JSON types in \`${place.setting}\`.`,
      cause,
    )
  }
  // The dialect is always the same: models need not read it each time.
  const { $schema: _, ...rest } = copyAsJson(converted, place, problem)
  return rest
}

function copyAsJson(schema: unknown, place: SchemaPlace, problem: SchemaProblem): JsonObject {
  let copy: unknown
  try {
    copy = JSON.parse(JSON.stringify(schema) ?? "null")
  } catch (cause) {
    throw problem(`an ${place.kind} schema that is not JSON`, `Pass \`${place.setting}\` as plain JSON Schema.`, cause)
  }
  if (typeof copy !== "object" || copy === null || Array.isArray(copy)) {
    throw problem(`no ${place.kind} schema`, `Pass a JSON Schema object or a Standard Schema as \`${place.setting}\`.`)
  }
  return copy as JsonObject // Safe: JSON.parse made it, and it is neither null nor an array.
}

function deepFreeze<Value extends Json>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child)
    Object.freeze(value)
  }
  return value
}
