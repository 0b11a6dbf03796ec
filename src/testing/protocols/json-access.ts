import type { Json, JsonObject } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"

/** Accessors for unchecked JSON: absent values read as empty. */
export function objectAt(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

export function textAt(value: Json | undefined, key: string): string {
  const text = objectAt(value)[key]
  return typeof text === "string" ? text : ""
}

export function listAt(value: Json | undefined, key: string): readonly Json[] {
  const list = objectAt(value)[key]
  return isList(list) ? list : []
}

/** Content that may be a string or a list of blocks, as blocks. */
export function blocksOf(content: Json | undefined): readonly JsonObject[] {
  if (typeof content === "string") return [{ type: "text", text: content }]
  return isList(content) ? content.map(objectAt) : []
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}
