import type { Json, JsonObject } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"

/**
 * True if a value certainly matches a schema, for the simple schemas of most tools. False means "check fully": the
 * value may be invalid, or the schema may use a keyword that only the schema library supports. Saves loading that
 * library for plainly valid calls.
 */
export function plainlyFits(value: Json, schema: Json | undefined): boolean {
  if (!isJsonObject(schema) || !Object.keys(schema).every((keyword) => knownKeywords.has(keyword))) return false
  if (schema.enum !== undefined && !isOneOf(value, schema.enum)) return false
  switch (schema.type) {
    case "object":
      return isJsonObject(value) && objectFits(value, schema)
    case "array":
      return (
        Array.isArray(value) &&
        (schema.items === undefined || value.every((item: Json) => plainlyFits(item, schema.items)))
      )
    case "string":
    case "boolean":
      return typeof value === schema.type
    case "number":
      return Number.isFinite(value)
    case "integer":
      return Number.isInteger(value)
    default:
      return false
  }
}

function objectFits(
  value: JsonObject,
  { properties = {}, required = [], additionalProperties = true }: JsonObject,
): boolean {
  if (!isJsonObject(properties) || !Array.isArray(required) || typeof additionalProperties !== "boolean") return false
  if (!required.every((key) => Object.hasOwn(value, String(key)))) return false
  return Object.keys(value).every((key) =>
    // Safe: it is one of its own keys.
    Object.hasOwn(properties, key) ? plainlyFits(value[key] as Json, properties[key]) : additionalProperties,
  )
}

function isOneOf(value: Json, choices: Json): boolean {
  return Array.isArray(choices) && (value === null || typeof value !== "object") && choices.includes(value)
}

/** The keywords checked here, and annotations without effect. */
const knownKeywords: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "title",
  "description",
  "default",
  "examples",
  "$schema",
])
