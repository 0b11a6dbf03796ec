/** Returns what stands in for a text, or for a number. */
export type Rewrite = (value: string | number) => string | number

/** Rewrites every text and number of a JSON value, keys included. Returns the same object if nothing changed. Media are left alone. */
export function rewriteTexts<Value>(value: Value, rewrite: Rewrite): Value {
  // Safe: `walk` returns a value of the same form, with other texts and numbers.
  return walk(value, rewrite) as Value
}

function walk(value: unknown, rewrite: Rewrite): unknown {
  if (typeof value === "string" || typeof value === "number") return rewrite(value)
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value) ? walkList(value, rewrite) : walkObject(value, rewrite)
}

function walkList(list: readonly unknown[], rewrite: Rewrite): readonly unknown[] {
  let changed: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const next = walk(list[index], rewrite)
    if (next === list[index]) continue
    changed ??= list.slice()
    changed[index] = next
  }
  return changed ?? list
}

function walkObject(object: object, rewrite: Rewrite): object {
  const entries = Object.entries(object)
  const isMedia = isMediaPart(object)
  let changed = false
  for (const entry of entries) {
    const [key, value] = entry
    const nextKey = String(rewrite(key))
    const next = isMedia && key === "data" ? value : walk(value, rewrite)
    if (nextKey === key && next === value) continue
    changed = true
    entry[0] = nextKey
    entry[1] = next
  }
  return changed ? Object.fromEntries(entries) : object
}

/** An image or a document. Text under the same names is still text: a file that small does not exist. */
function isMediaPart(object: object): boolean {
  if (!("mediaType" in object && "data" in object)) return false
  const { mediaType, data } = object
  return (
    typeof mediaType === "string" && typeof data === "string" && data.length >= MIN_FILE_LENGTH && BASE64.test(data)
  )
}

const MIN_FILE_LENGTH = 48
const BASE64 = /^[A-Za-z0-9+/\r\n]*={0,2}\s*$/
