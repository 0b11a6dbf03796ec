import fc from "fast-check"
import { RE2JS } from "re2js"
import { expect, test } from "vitest"
import { re2SyntaxError } from "./re2-syntax.ts"

/** What the engine says of a pattern; undefined if it compiles it. */
function engineError(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : String(error)
  }
}

const kindOf = (problem: string | undefined) => problem?.replace(/: `.*$/s, "")

test.each([
  "(a",
  "a)",
  "(?:a|b",
  "[a",
  "[]",
  "[a-",
  "[b-a]",
  "[a-\\d]",
  "[[:digits:]]",
  "a\\",
  "*a",
  "a|*",
  "(?i)*",
  "a**",
  "a*+",
  "a{2}{3}",
  "a{1001}",
  "a{2,1}",
  "a{123456789}",
  "(?=a)",
  "(?!a)",
  "(?<=a)",
  "(?<!a)",
  "(?>a)",
  "(?#a)",
  "(?R)",
  "(?i-)",
  "(?P=x)",
  "(?P<x",
  "(?P<a-b>c)",
  "(?<n>a)(?<n>b)",
  "(a)\\1",
  "\\8",
  "\\k<x>",
  "\\u00e9",
  "\\cA",
  "\\C",
  "\\Z",
  "\\x{}",
  "\\x{110000}",
  "\\x4",
  "\\p",
  "\\p{L",
  "\\pX",
  "\\é",
])("the pattern %s is refused for the reason of the engine", (pattern) => {
  expect(re2SyntaxError(pattern)).toBeDefined()
  expect(kindOf(re2SyntaxError(pattern))).toBe(kindOf(engineError(pattern)))
})

test.each([
  "",
  "a|",
  "()*",
  "^*",
  "a(?i)*b",
  "(?P<x>a)(?<y>b)",
  "(?i-s:a)(?U)b(?)",
  "a{,5}b{05}{",
  "a{0}b{2,}?c{1,1000}?",
  "[]a][^]a][a-][-a][\\d-a][[:alpha:]-z][[:^word:]]",
  "[[:alpha][\\]\\-\\x41-\\x{5A}]",
  "}]",
  "\\A\\bx\\B\\z",
  "\\Q(*[\\E+\\Q\\E",
  "\\Qopen(",
  "\\0\\12\\123\\a\\f\\n\\r\\t\\v\\_\\/\\ ",
  "\\pL\\PN\\p{Greek}[\\p{^Lu}]",
  "😀{2}[😀-😂]\\x{1F600}",
])("the pattern %s is accepted, as by the engine", (pattern) => {
  expect(engineError(pattern)).toBeUndefined()
  expect(re2SyntaxError(pattern)).toBeUndefined()
})

test("an arbitrary pattern is refused exactly if the engine refuses its syntax, and for the same reason", () => {
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...("ab0-9()[]{}*+?|^$.\\:<>=!,é😀\n".match(/./gsu) ?? [])) },
    fc.constantFrom(
      "(?",
      "(?:",
      "(?i",
      "(?P<",
      "(?<n>",
      "[^",
      "[:",
      ":]",
      "[[:digit:]]",
      "{2,3}",
      "{1",
      "{1,}",
      "{1001}",
    ),
    fc.constantFrom(
      "\\d",
      "\\p{Lu}",
      "\\pL",
      "\\P",
      "\\Q",
      "\\E",
      "\\x",
      "\\x{4",
      "41}",
      "\\07",
      "\\1",
      "\\b",
      "\\z",
      "\\C",
    ),
  )
  const pattern = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(""))
  const property = fc.property(pattern, (source) => {
    const expected = kindOf(engineError(source))
    if (!isLeftToEngine(source, expected)) expect(kindOf(re2SyntaxError(source))).toBe(expected)
  })
  fc.assert(property, { numRuns: 5_000 })
})

/** The names of Unicode classes, and the product of nested repetitions. */
function isLeftToEngine(source: string, problem: string | undefined): boolean {
  return problem === "invalid repeat count" || (problem === "invalid character class range" && /\\p\{/i.test(source))
}
