import { expect, test } from "vitest"
import { countAttacks } from "../../test/support/count-attacks.ts"
import { withEscapes } from "../lib/text/hidden-characters.ts"

countAttacks("terminal characters in JSON")

/**
 * Characters that control a terminal or are invisible: C1 controls, separators, bidi marks, zero-width and tag
 * characters.
 */
const hostile = [
  "\u007f",
  "\u009b",
  "\u0085",
  "\u2028",
  "\u2029",
  "\u202e",
  "\u2066",
  "\u200b",
  "\u200e",
  "\u2060",
  "\ufeff",
  "\u{e0041}",
  "\u00ad",
  "\u061c",
]

test.each(hostile)("%j is escaped in JSON output and parses back to the same value", (character) => {
  const value = { text: `a${character}b`, [`k${character}`]: 1 }
  const written = withEscapes(JSON.stringify(value))
  expect(written).toMatch(/^[\x20-\x7e]*$/)
  expect(JSON.parse(written)).toEqual(value)
})

test("letters, emoji and line feeds are written as in standard JSON", () => {
  const value = { text: "é 日本 🚢 \n\t" }
  expect(withEscapes(JSON.stringify(value))).toBe(JSON.stringify(value))
})
