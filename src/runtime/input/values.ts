import { LonghaulError } from "../../contract/error.ts"
import { whyNotJson } from "../../lib/json.ts"

export function wholeNumber(name: string, value: number, largest = LARGEST_LIMIT): number {
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
export const LARGEST_LIMIT = 2 ** 31 - 1
