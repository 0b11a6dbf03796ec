import type { Json } from "../../contract/json.ts"
import { isJsonObject } from "../json.ts"

/** Why the arguments of a call are too large to be checked, masked and recorded in time; undefined: they are not. */
export function whyTooLarge(args: Json): string | undefined {
  let members = 0
  let characters = 0
  const waiting: Json[] = [args]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === "string") characters += value.length
    else if (Array.isArray(value)) {
      members += value.length
      if (members <= MAX_MEMBERS) waiting.push(...value)
    } else if (isJsonObject(value)) {
      for (const key in value) {
        characters += key.length
        if (++members > MAX_MEMBERS) break
        const member = value[key]
        if (member !== undefined) waiting.push(member)
      }
    }
    if (members > MAX_MEMBERS) return `The arguments have more than ${MAX_MEMBERS} keys and entries.`
    if (characters > MAX_CHARACTERS) return `The arguments have more than ${MAX_CHARACTERS} characters.`
  }
  return undefined
}

const MAX_MEMBERS = 50_000
/** Far more than models can write in one answer. */
export const MAX_CHARACTERS = 16 * 1024 * 1024
