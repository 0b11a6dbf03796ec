import { LonghaulError } from "../contract/error.ts"
import { closest } from "./closest.ts"
import { whyNotJson } from "./json.ts"

/** The keys of a type as a list; the compiler rejects an incomplete list. */
export function keys<T>() {
  return <K extends (keyof T & string)[]>(
    ...names: K & (Exclude<keyof T & string, K[number]> extends never ? unknown : never)
  ): readonly string[] => names
}

/**
 * Throws `config_invalid` unless `given` is an object with known keys only: a misspelt key would be a setting, perhaps
 * a gate, that silently does nothing. If it may have other members (`open`, and any class instance), only near misses
 * of a known key are rejected.
 */
export function checkKeys(where: string, given: unknown, known: readonly string[], open = false): void {
  if (!isObject(given)) {
    throw new LonghaulError("config_invalid", `${where} is ${kindOf(given)}, not an object.`, {
      fix: `Pass an object as ${where} with any of: ${known.join(", ")}.`,
    })
  }
  const mayHaveOthers = open || !isPlain(given)
  for (const key of memberNames(given)) {
    if (known.includes(key)) continue
    const meant = closest(key, known)
    if (mayHaveOthers && meant === undefined) continue
    throw new LonghaulError("config_invalid", `${where} has an unknown key ${JSON.stringify(key.slice(0, 80))}.`, {
      fix: meant ? `Did you mean ${JSON.stringify(meant)}?` : `Use one of: ${known.join(", ")}.`,
    })
  }
}

/** True for an object with members of its own. A promise that was not awaited has none, and would pass for one without settings. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !builtIn.test(tagOf(value))
}

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1)
}

const builtIn =
  /^(Promise|(Weak)?(Map|Set|Ref)|Date|RegExp|Error|String|Number|Boolean|Symbol|BigInt|ArrayBuffer|.+Array)$/

/** A short name for the kind of a value, never its content. */
export function kindOf(value: unknown): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "an array"
  const type = typeof value
  const tag = type === "object" ? tagOf(value) : ""
  if (builtIn.test(tag)) return `${/^[AEIO]/.test(tag) ? "an" : "a"} ${tag}`
  return type === "undefined" ? "missing" : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

export function wholeNumber(name: string, value: number, largest = MAX_LIMIT): number {
  if (Number.isInteger(value) && value > 0 && value <= largest) return value
  throw new LonghaulError("config_invalid", `${name} is ${shown(value)}.`, {
    fix: `Give ${name} as a whole number from 1 to ${largest}.`,
  })
}

export function oneOf<Value extends string>(name: string, value: Value, known: readonly Value[]): Value {
  if (known.includes(value)) return value
  throw new LonghaulError("config_invalid", `${name} is ${shown(value)}.`, {
    fix: `Use one of: ${known.join(", ")}.`,
  })
}

/** Formats a value for an error message. Not every invalid value can be written as JSON. */
export function shown(value: unknown): string {
  return whyNotJson(value, "") === undefined ? JSON.stringify(value) : `a ${typeof value}`
}

/** The longest a timer can wait: some 24 days. */
export const MAX_LIMIT = 2 ** 31 - 1

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function memberNames(value: object): Set<string> {
  const names = new Set(Object.keys(value))
  let prototype = Object.getPrototypeOf(value)
  // Up to the prototype of all objects, whose members are not settings.
  while (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    for (const name of Object.getOwnPropertyNames(prototype)) if (name !== "constructor") names.add(name)
    prototype = Object.getPrototypeOf(prototype)
  }
  return names
}
