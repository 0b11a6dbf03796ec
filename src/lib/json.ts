import type { Json, JsonObject } from "../contract/json.ts"

/** One text for one value: keys sorted, so that equal values have equal digests. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  let inside = ""
  if (isArray(value)) {
    for (const item of value) inside += `${inside && ","}${canonicalJson(item)}`
    return `[${inside}]`
  }
  for (const key of Object.keys(value).sort()) {
    inside += `${inside && ","}${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`
  }
  return `{${inside}}`
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
