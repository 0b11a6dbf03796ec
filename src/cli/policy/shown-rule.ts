import type { PolicyRule } from "../../contract/policy.ts"
import { visible } from "../format.ts"

/** A rule on one line, as it could be written in a file. */
export function shownRule(rule: PolicyRule): string {
  return visible(
    Object.entries(rule)
      .map(([key, value]) => `${key}: ${inline(value)}`)
      .join(", "),
  )
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? inline(value[0]) : `[${value.map(inline).join(", ")}]`
  if (typeof value !== "object" || value === null)
    return typeof value === "string" ? plain(value) : JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, member]) => `${plain(key)}: ${inline(member)}`)
    .join(", ")} }`
}

function plain(text: string): string {
  return /^[\w./][\w./ -]*$/.test(text) ? text : JSON.stringify(text)
}
