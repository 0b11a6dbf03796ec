import type { LonghaulError } from "../contract/error.ts"
import type { Json, JsonObject, JsonSchema } from "../contract/json.ts"
import type { StandardSchema } from "../contract/standard-schema.ts"
import { isStandardSchema } from "./standard-schema.ts"

/** Says what is wrong with a schema that somebody gave, and what to do about it. */
export type SchemaProblem = (what: string, fix: string, cause?: unknown) => LonghaulError

/** Which schema it is: a word for people, and the setting it was given as. */
export interface SchemaPlace {
  readonly kind: string
  readonly setting: string
}

/** A schema that somebody gave, as frozen JSON Schema of our own: nothing they do later changes what a model was told. */
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
  // The dialect is the same for all: models need not read it each time.
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
