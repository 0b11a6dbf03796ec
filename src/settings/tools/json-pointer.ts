import type { Json } from "../../contract/json.ts"
import { ToolError } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"

/** The value at an RFC 6901 pointer. Throws `ToolError` that says how far it leads. */
export function atPointer(value: Json, pointer: string): Json {
  if (pointer === "") return value
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) {
    throw new ToolError(
      "invalid_input",
      `${JSON.stringify(pointer)} is not a JSON pointer. Write it as "/items/0/name".`,
    )
  }
  let found: Json | undefined = value
  let passed = ""
  for (const token of pointer.slice(1).split("/")) {
    const next: Json | undefined = memberOf(found, token.replaceAll("~1", "/").replaceAll("~0", "~"))
    if (next === undefined) throw new ToolError("not_found", `Nothing is at ${pointer}: ${described(found, passed)}.`)
    found = next
    passed += `/${token}`
  }
  return found
}

function memberOf(value: Json, name: string): Json | undefined {
  if (isArray(value)) return /^(0|[1-9]\d{0,9})$/.test(name) ? value[Number(name)] : undefined
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function described(value: Json, pointer: string): string {
  const where = pointer === "" ? "the result" : pointer
  if (isArray(value)) return `${where} is an array of ${value.length}`
  if (!isJsonObject(value)) return `${where} is ${value === null ? "null" : `a ${typeof value}`}`
  const keys = Object.keys(value)
  const shown = keys.slice(0, SHOWN_KEYS).map((key) => JSON.stringify(key.slice(0, 50)))
  return `${where} has the keys ${shown.join(", ")}${keys.length > SHOWN_KEYS ? " …" : ""}`
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

const SHOWN_KEYS = 20
