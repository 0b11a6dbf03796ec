import type { Json, JsonObject } from "../../contract/json.ts"
import type { Tool, ToolInput } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import { schemaIssues } from "../../lib/json-schema.ts"
import { plainlyFits } from "./plainly-fits.ts"

/**
 * Checks a call's arguments and fills in defaults. The tool gets a copy: the journalled value is never changed. A
 * promise only while the schema library loads or if the tool has its own validation.
 */
export function validateInput(tool: Tool, args: Json): ToolInput | Promise<ToolInput> {
  try {
    if (tool.validate !== undefined) return tool.validate(copyWithDefaults(args, undefined))
    const copy = copyWithDefaults(args, tool.inputSchema)
    if (plainlyFits(copy, tool.inputSchema)) return { ok: true, args: copy }
    const issues = schemaIssues(tool.inputSchema, copy, "arguments")
    return "then" in issues ? issues.then((found) => inputOf(copy, found)).catch(hostile) : inputOf(copy, issues)
  } catch (error) {
    return hostile(error)
  }
}

function inputOf(args: Json, issues: readonly string[]): ToolInput {
  return issues.length === 0 ? { ok: true, args } : { ok: false, issues }
}

/** Follows `properties` and `items` only: elsewhere a default could depend on the chosen alternative. */
function copyWithDefaults(value: Json, schema: Json | undefined): Json {
  if (Array.isArray(value)) {
    const items = isJsonObject(schema) ? schema.items : undefined
    return value.map((item: Json) => copyWithDefaults(item, items))
  }
  if (!isJsonObject(value)) {
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      return value
    }
    throw new NotJson()
  }
  const properties = isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : undefined
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const child = value[key]
    if (child !== undefined) setOwn(copy, key, copyWithDefaults(child, ownProperty(properties, key)))
  }
  if (properties !== undefined) addDefaults(copy, properties)
  return copy
}

function addDefaults(copy: Record<string, Json>, properties: JsonObject): void {
  for (const key of Object.keys(properties)) {
    if (key === "__proto__" || Object.hasOwn(copy, key)) continue
    const property = properties[key]
    const initial = isJsonObject(property) ? ownProperty(property, "default") : undefined
    if (initial !== undefined) copy[key] = copyWithDefaults(initial, property)
  }
}

function ownProperty(object: JsonObject | undefined, key: string): Json | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined
}

/** JSON may contain a key `__proto__`; assigning it would change the object's prototype instead. */
function setOwn(object: Record<string, Json>, key: string, value: Json): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  } else object[key] = value
}

class NotJson extends Error {}

/** Problems that a model can cause are reported to it; anything else is a fault of the tool's schema. */
function hostile(error: unknown): ToolInput {
  if (error instanceof NotJson) return { ok: false, issues: ["arguments: must be JSON"] }
  if (error instanceof RangeError) return { ok: false, issues: ["arguments: nested too deeply"] }
  if (error instanceof URIError) return { ok: false, issues: ["arguments: a property name is not valid Unicode"] }
  throw error
}
