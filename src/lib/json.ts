import type { Json, JsonObject } from "../contract/json.ts"

/** Canonical text: keys are sorted, so that equal values have equal digests. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  let inside = ""
  if (isArray(value)) {
    for (const item of value) inside += `${inside && ","}${canonicalJson(item)}`
    return `[${inside}]`
  }
  for (const key of Object.keys(value).sort()) {
    // Safe: it is one of its own keys.
    inside += `${inside && ","}${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`
  }
  return `{${inside}}`
}

/** The value as it is recorded, which the owner of the original cannot change. */
export function jsonCopy<Value extends Json>(value: Value): Value {
  // Safe: written and read as JSON, it is the same value.
  return typeof value === "object" && value !== null ? (JSON.parse(JSON.stringify(value)) as Value) : value
}

/**
 * Why a value cannot be written as JSON; undefined if it can. Nesting is bounded, because writing recurses: a value
 * parsed in one place might not be writable in another with less stack.
 */
export function whyNotJson(value: unknown, name: string): string | undefined {
  try {
    return issueIn(value, name, [])
  } catch {
    return `${name} cannot be read`
  }
}

function issueIn(value: unknown, name: string, above: unknown[]): string | undefined {
  if (typeof value !== "object" || value === null) {
    const isOther = typeof value === "bigint" || typeof value === "symbol" || typeof value === "function"
    return isOther ? `${name} is a ${typeof value}` : undefined
  }
  if (above.includes(value)) return `${name} contains itself`
  if (above.length === MAX_DEPTH) return `it is nested more than ${MAX_DEPTH} levels deep`
  above.push(value)
  const issue =
    "toJSON" in value && typeof value.toJSON === "function"
      ? issueIn(value.toJSON(), name, above)
      : issueInside(value, name, above)
  above.pop()
  return issue
}

function issueInside(value: object, name: string, above: unknown[]): string | undefined {
  for (const [key, member] of Object.entries(value)) {
    const issue = issueIn(member, `${name}.${key}`, above)
    if (issue !== undefined) return issue
  }
  return undefined
}

const MAX_DEPTH = 256

/** The same value with every text in it changed, keys included. */
export function withTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value)
  if (isArray(value)) return value.map((each) => withTexts(each, change))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [change(key), withTexts(each, change)]))
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** A member of a vendor's message that should be a text. */
export function textOrEmpty(value: Json | undefined): string {
  return typeof value === "string" ? value : ""
}
