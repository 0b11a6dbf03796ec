import type { Json } from "../../contract/json.ts"
import { compileLinearPattern } from "../../lib/linear-pattern.ts"
import { leavesOf } from "./pointer.ts"

/** A pattern for an argument. */
export interface ValuePattern {
  /** The whole value must match as written, and be a single one. */
  permits(value: Json): boolean
  /** A match anywhere in it is enough, in any case and in any line, also inside lists and objects. */
  refuses(value: Json): boolean
}

/** Throws PatternError. */
export async function compileValue(source: string): Promise<ValuePattern> {
  const whole = await compileLinearPattern(`\\A(?:${source})\\z`)
  const anywhere = await compileLinearPattern(`(?s:${source})`, { ignoreCase: true, multiline: true })
  return {
    permits: (value) => (value === null || typeof value !== "object") && whole.test(String(value)),
    refuses: (value) => leavesOf(value).some((leaf) => anywhere.test(leaf)),
  }
}
