import type { OffloadedResult } from "../../contract/compaction.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { startOf } from "../../lib/truncate.ts"

/**
 * What the model gets instead of a long result: the shape of JSON, the first characters of any other text, and how to get the
 * rest. The same result always has the same preview.
 */
export function previewOf(result: Omit<OffloadedResult, "toolName" | "toolInput">): string {
  const { rawContent, rawBytes, ref, maxPreviewChars } = result
  const value = parsed(rawContent)
  const shown = value === undefined ? rawContent : shapeOf(value, rawBytes, maxPreviewChars)
  return withRef(startOf(shown, maxPreviewChars), ref, rawBytes)
}

/** Appends the sentence about the reference. */
export function withRef(preview: string, ref: string, bytes: number): string {
  return `${preview}\n[${bytes} bytes in all are stored. FetchData with ref ${JSON.stringify(ref)} returns them, or a part: offset and limit, pointer, or find.]`
}

/** True if a text contains the reference as a word of its own: "11.0" does not name "1.0". */
export function namesRef(text: string, ref: string): boolean {
  for (let at = text.indexOf(ref); at !== -1; at = text.indexOf(ref, at + 1)) {
    if (!isWordPart(text[at - 1]) && !/^(\w|\.\w)/.test(text.slice(at + ref.length, at + ref.length + 2))) return true
  }
  return false
}

function isWordPart(character: string | undefined): boolean {
  return character !== undefined && /[\w.]/.test(character)
}

/** The value of a JSON array or object; undefined for any other text. */
function parsed(text: string): readonly Json[] | JsonObject | undefined {
  if (!/^\s{0,99}[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function shapeOf(value: readonly Json[] | JsonObject, bytes: number, room: number): string {
  return isArray(value) ? arrayShape(value, bytes, room) : objectShape(value, bytes, room)
}

function arrayShape(items: readonly Json[], bytes: number, room: number): string {
  const [first] = items
  const start = `JSON array, ${counted(items.length, "item")}, ${bytes} bytes.`
  return first === undefined ? start : `${start} First item: ${sketch(first, room, 0)}`
}

function objectShape(value: JsonObject, bytes: number, room: number): string {
  const keys = Object.keys(value)
  let text = `JSON object, ${counted(keys.length, "key")}, ${bytes} bytes. Keys: `
  for (const [index, key] of keys.entries()) {
    if (text.length > room) break
    text += `${index === 0 ? "" : ", "}${quoted(key)} (${kindOf(value[key] ?? null)})`
  }
  return text
}

function kindOf(value: Json): string {
  if (isArray(value)) return `array of ${value.length}`
  if (value === null) return "null"
  if (typeof value === "object") return `object with ${counted(Object.keys(value).length, "key")}`
  return typeof value === "string" && value.length > 100 ? `string of ${value.length} characters` : typeof value
}

/** A value as shortened JSON. Writes hardly more than `room` characters, whatever the size and depth of the value. */
function sketch(value: Json, room: number, depth: number): string {
  if (typeof value === "string") return quoted(value)
  if (value === null || typeof value !== "object") return String(value)
  if (depth === MAX_DEPTH) return `(${kindOf(value)})`
  let inside = ""
  if (isArray(value)) {
    for (const item of value) {
      if (inside.length > room) break
      inside += `${inside && ","}${sketch(item, room - inside.length, depth + 1)}`
    }
    return `[${inside}]`
  }
  for (const key of Object.keys(value)) {
    if (inside.length > room) break
    inside += `${inside && ","}${quoted(key)}:${sketch(value[key] ?? null, room - inside.length, depth + 1)}`
  }
  return `{${inside}}`
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** As JSON, so that no text of a result can pass for a sentence of the runtime. */
function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_TEXT_LENGTH ? `${startOf(text, MAX_TEXT_LENGTH)}…` : text)
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`
}

const MAX_DEPTH = 4
const MAX_TEXT_LENGTH = 100
