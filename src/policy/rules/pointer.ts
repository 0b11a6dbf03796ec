import type { Json } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"

/** The parts of a JSON pointer; undefined if it is not one, or leads to the prototype of all objects. */
export function parsePointer(pointer: string): readonly string[] | undefined {
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return undefined
  const parts = pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
  return parts.some((part) => unsafe.has(part)) ? undefined : parts
}

const unsafe: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"])

/** Own members only. */
export function valueAt(value: Json, parts: readonly string[]): Json | undefined {
  let inside: Json | undefined = value
  for (const part of parts) {
    if (isList(inside)) inside = /^(0|[1-9]\d*)$/.test(part) ? inside[Number(part)] : undefined
    else inside = isJsonObject(inside) && Object.hasOwn(inside, part) ? inside[part] : undefined
    if (inside === undefined) return undefined
  }
  return inside
}

/** A copy with the value at that place; missing objects are created. Undefined if there is no such place. */
export function withValueAt(value: Json | undefined, parts: readonly string[], given: Json): Json | undefined {
  const [part, ...rest] = parts
  if (part === undefined) return given
  if (value === undefined || isJsonObject(value)) {
    const own = value !== undefined && Object.hasOwn(value, part) ? value[part] : undefined
    const changed = withValueAt(own, rest, given)
    return changed === undefined ? undefined : { ...value, [part]: changed }
  }
  if (!isList(value) || !/^(0|[1-9]\d*)$/.test(part) || Number(part) >= value.length) return undefined
  const changed = withValueAt(value[Number(part)], rest, given)
  return changed === undefined ? undefined : value.map((item, index) => (index === Number(part) ? changed : item))
}

/** Every text, number and truth value in a value, and every key. */
export function leavesOf(value: Json): readonly string[] {
  if (isList(value)) return value.flatMap(leavesOf)
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([key, each]) => [key, ...leavesOf(each)])
    : [String(value)]
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}
