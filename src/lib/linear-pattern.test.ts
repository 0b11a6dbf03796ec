import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compileLinearPattern, PatternError } from "./linear-pattern.ts"

const matching: readonly (readonly [pattern: string, matches: readonly string[], others: readonly string[]])[] = [
  ["abc", ["abc", "xabcx"], ["ab", ""]],
  ["^abc$", ["abc"], ["xabc", "abcx"]],
  ["a|bc|", ["a", "zzz", ""], []],
  ["a{2,3}b", ["aab", "aaab", "aaaab"], ["ab"]],
  ["\\bcat\\b", ["cat", "a cat.", "écat"], ["concat", "cats"]],
  ["function\\s+(?P<name>\\w+)\\s*\\(.*\\)", ["function add(a, b)"], ["function (a)"]],
  ["^.$", ["é", "😀", "\r"], ["", "ab", "\n"]],
  ["^(?s:.)$", ["\n"], [""]],
  ["\\x{1F600}|\\x41", ["😀", "A"], ["B"]],
  ["(?i)straße", ["STRAßE", "Straẞe"], ["strasse"]],
  ["\\p{Lu}\\P{Lu}", ["Éa"], ["éa"]],
  ["^[[:alpha:]]+$", ["abc"], ["ab1", "é"]],
  [".{0,400}error", [`${"x".repeat(1000)}error`], ["err"]],
  ["\\Qa.b\\E", ["a.b"], ["axb"]],
]

describe("compileLinearPattern", () => {
  test.each(matching)("the pattern %s matches its samples and no others", async (source, matches, others) => {
    const pattern = await compileLinearPattern(source)
    for (const text of matches) expect(pattern.test(text), text).toBe(true)
    for (const text of others) expect(pattern.test(text), text).toBe(false)
  })

  test("a case-insensitive pattern ignores case", async () => {
    const ignoreCase = true
    expect((await compileLinearPattern("straße [a-c]É", { ignoreCase })).test("STRAßE Bé")).toBe(true)
    expect((await compileLinearPattern("[^a]", { ignoreCase })).test("A")).toBe(false)
    expect((await compileLinearPattern("a")).test("A")).toBe(false)
  })

  test("multiline: ^ and $ match at line ends, \\A and \\z at text ends", async () => {
    const multiline = true
    expect((await compileLinearPattern("^b$", { multiline })).test("a\nb\nc")).toBe(true)
    expect((await compileLinearPattern("^b$")).test("a\nb\nc")).toBe(false)
    expect((await compileLinearPattern("\\Ab|b\\z", { multiline })).test("a\nb\nc")).toBe(false)
  })

  test.each([
    ["a$", 0, 2, false],
    ["a\\b", 0, 2, false],
    ["a\\B", 0, 2, true],
    ["b", 0, 2, false],
    ["b$", 0, 3, true],
    ["^a", 1, 3, false],
    ["\\ba", 1, 3, false],
    ["\\Ba", 1, 3, true],
    ["^aab$", 0, 3, true],
    ["a|x$", 0, 1, true],
    ["", 3, 3, true],
    ["$", 1, 2, false],
  ])("%s is searched in a part of aab, from %i to %i, with the rest as context", async (source, from, to, found) => {
    expect((await compileLinearPattern(source)).test("aab", from, to)).toBe(found)
  })

  test.each([
    ["(a)\\1", "uses a backreference"],
    ["(?P<x>a)\\k<x>", "uses a backreference"],
    ["(?=a)", "uses lookahead"],
    ["(?!a)", "uses lookahead"],
    ["(?<=a)b", "uses lookbehind"],
    ["(?<!a)b", "uses lookbehind"],
    ["(a", "missing closing )"],
    ["a)", "unexpected )"],
    ["[a", "missing closing ]"],
    ["a\\", "trailing backslash"],
    ["*a", "missing argument"],
    ["a{2000}", "invalid repeat count"],
    ["\\w{0,900}!", "too large"],
    ["a\\Q)", "has a \\Q without a matching \\E"],
    ["(".repeat(990), "missing closing )"],
    ["a".repeat(1001), "longer than 1000"],
    ["\\u00e9", "invalid escape sequence: `\\u`"],
    ["\\C", "invalid escape sequence"],
  ])("the pattern %s is rejected with the reason", async (source, reason) => {
    await expect(compileLinearPattern(source)).rejects.toThrow(PatternError)
    await expect(compileLinearPattern(source)).rejects.toThrow(reason)
  })

  test.each(["(a+)+$", "(a|a)*[xy]$", "(a|b)*a(a|b){20}[xy]", "a*a*a*a*a*[xy]", "(.*)(.*)(.*)[xy]$", "\\s+[xy]"])(
    "%s finishes on a text that makes a backtracking engine explode",
    async (source) => {
      const pattern = await compileLinearPattern(source)
      expect(pattern.test(`${"a".repeat(100_000)}${" ".repeat(100_000)}!`)).toBe(false)
    },
  )

  test("results agree with JavaScript's engine on arbitrary small patterns and texts, also in parts of them", async () => {
    // No surrogate pairs: V8 finds a \\B inside one, contrary to the specification.
    const character = fc.constantFrom("a", "b", "B", " ", "é", "中", "\n")
    const leaf = fc.oneof(
      character,
      fc.constantFrom("[^\\n]", "\\w", "\\W", "\\d", "\\b", "\\B", "^", "$", "[ab]", "[^ab]", "[a-z]", "[^ 中]"),
    )
    const { node } = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        leaf,
        fc.tuple(tie("node"), tie("node")).map((pair) => pair.join("")),
        fc.tuple(tie("node"), tie("node")).map(([left, right]) => `(?:${left}|${right})`),
        fc
          .tuple(tie("node"), fc.constantFrom("*", "+", "?", "{2}", "{1,2}", "*?", "{0,}"))
          .map(([inner, quantifier]) => `(?:${inner})${quantifier}`),
      ),
    }))
    const text = fc.array(character, { maxLength: 8 }).map((characters) => characters.join(""))
    const cuts = fc.tuple(fc.nat(8), fc.nat(8))
    const property = fc.asyncProperty(
      node,
      text,
      fc.boolean(),
      cuts,
      async (source, subject, multiline, [one, other]) => {
        const pattern = await compileLinearPattern(source, { multiline })
        const flags = multiline ? "um" : "u"
        expect(pattern.test(subject)).toBe(new RegExp(source, flags).test(subject))
        const [from, to] = [Math.min(one, other, subject.length), Math.min(Math.max(one, other), subject.length)]
        const around = [`(?<=(?<![^])[^]{${from},})`, `(?=[^]{${subject.length - to},}(?![^]))`] as const
        const inPart = new RegExp(`${around[0]}(?:${source})${around[1]}`, flags)
        expect(pattern.test(subject, from, to)).toBe(inPart.test(subject))
      },
    )
    await fc.assert(property, { numRuns: 2000 })
  })
})
