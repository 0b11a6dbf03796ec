import type { Json, JsonObject, JsonSchema } from "../../contract/json.ts"
import { isJsonObject } from "../json.ts"

/**
 * A schema as servers accept it for constrained answers: objects closed, and without unsupported keywords. The answer
 * still has to be checked against the original schema, which may require more.
 */
export function closedSchema(schema: JsonSchema): JsonSchema {
  const closed: Record<string, Json> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (lists.has(key) && Array.isArray(value)) closed[key] = value.map(closedValue)
    else if (maps.has(key) && isJsonObject(value)) closed[key] = closedEntries(value)
    else if (key === "items" || key === "additionalProperties") closed[key] = closedValue(value)
    else if (plain.has(key)) closed[key] = value
  }
  if (isJsonObject(closed.properties) && closed.additionalProperties === undefined) closed.additionalProperties = false
  return closed
}

/** True if every object of a closed schema lists all its properties as required and allows no others. */
export function isStrict(schema: Json | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (!isJsonObject(schema)) return true
  const { type, properties, required, additionalProperties } = schema
  if (type === "object" || properties !== undefined) {
    const names = isJsonObject(properties) ? Object.keys(properties) : []
    const listed = Array.isArray(required) ? required : []
    if (additionalProperties !== false || !names.every((name) => listed.includes(name))) return false
  }
  const inner = [...lists, "items"].map((key) => schema[key])
  const mapped = [...maps].flatMap((key) => (isJsonObject(schema[key]) ? Object.values(schema[key]) : []))
  return [...inner, ...mapped].every(isStrict)
}

function closedValue(value: Json): Json {
  return isJsonObject(value) ? closedSchema(value) : value
}

function closedEntries(entries: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, closedValue(value)]))
}

const lists: ReadonlySet<string> = new Set(["anyOf", "allOf", "oneOf", "prefixItems"])
const maps: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"])
const plain: ReadonlySet<string> = new Set(["type", "required", "enum", "const", "description", "title", "$ref"])
