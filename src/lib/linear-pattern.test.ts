import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compileLinearPattern, PatternError } from "./linear-pattern.ts"

const matching: readonly (readonly [pattern: string, matches: readonly string[], others: readonly string[]])[] = [
  ["abc", ["abc", "xabcx"], ["ab", ""]],
  ["^abc$", ["abc"], ["xabc", "abcx"]],
  ["a|bc|", ["a", "zzz", ""], []],
  ["colou?r", ["color", "colour"], ["colr"]],
  ["a{2,3}b", ["aab", "aaab", "aaaab"], ["ab"]],
  ["^a{2}$", ["aa"], ["a", "aaa"]],
  ["^(?:ab){2,}$", ["abab", "ababab"], ["ab", "aba"]],
  ["\\bcat\\b", ["cat", "a cat."], ["concat", "cats"]],
  ["\\Bcat", ["concat"], ["cat", "a cat"]],
  ["^[^a-c]+$", ["xyz"], ["xaz", ""]],
  ["[\\w.-]+@\\w+", ["me.you-x@host"], ["@host"]],
  ["\\d+\\s*\\(", ["12 ("], ["12 x"]],
  ["function\\s+(?<name>\\w+)\\s*\\(.*\\)", ["function add(a, b)"], ["function (a)"]],
  ["^.$", ["é", "😀"], ["", "ab", "\r"]],
  ["\\u{1F600}|\\x41|\\u0042", ["😀", "A", "B"], ["C"]],
  ["a{,2}", ["a{,2}"], ["aa"]],
  ["[]a", [], ["a", "]a"]],
  ["^[^]$", ["a", "\n"], [""]],
]

describe("compileLinearPattern", () => {
  test.each(matching)("%s", (source, matches, others) => {
    const pattern = compileLinearPattern(source)
    for (const text of matches) expect(pattern.test(text), text).toBe(true)
    for (const text of others) expect(pattern.test(text), text).toBe(false)
  })

  test("ignores case where asked to", () => {
    expect(compileLinearPattern("straße [a-c]É", { ignoreCase: true }).test("STRAßE Bé")).toBe(true)
    expect(compileLinearPattern("[^a]", { ignoreCase: true }).test("A")).toBe(false)
    expect(compileLinearPattern("a").test("A")).toBe(false)
  })

  test("searches a part of a text as if it were the whole", () => {
    const pattern = compileLinearPattern("^\\bb+\\b$")
    expect(pattern.test("abbc", 1, 3)).toBe(true)
    expect(pattern.test("abbc")).toBe(false)
  })

  test.each([
    ["(a)\\1", "backreference"],
    ["(?<x>a)\\k<x>", "backreference"],
    ["(?=a)", "lookahead"],
    ["(?!a)", "lookahead"],
    ["(?<=a)b", "lookbehind"],
    ["(?<!a)b", "lookbehind"],
    ["(?i)a", "group (?i"],
    ["[[:space:]]", "POSIX"],
    ["\\p{L}", "unknown escape"],
    ["(a", 'without its ")"'],
    ["a)", 'without its "("'],
    ["[a", "ends too early"],
    ["a\\", "ends too early"],
    ["*a", "nothing to repeat"],
    ["a**", "right after another"],
    ["a{3,2}", "wrong order"],
    ["[z-a]", "wrong order"],
    ["[\\d-z]", "between two characters"],
    ["a{2000}", "more than 1000 times"],
    ["(a{50}){50}", "too large"],
    ["(".repeat(60), "nests more than"],
    ["a".repeat(1001), "longer than 1000"],
    ["\\u{110000}", "bad character code"],
  ])("refuses %s and says why", (source, reason) => {
    expect(() => compileLinearPattern(source)).toThrow(PatternError)
    expect(() => compileLinearPattern(source)).toThrow(reason)
  })

  test.each(["(a+)+$", "(a|a)*$", "(a|b)*a(a|b){20}$", "a*a*a*a*a*$", "(.*)(.*)(.*)x$", "\\s+$"])(
    "%s takes linear time on the text that makes a backtracking engine explode",
    (source) => {
      const pattern = compileLinearPattern(source)
      const started = performance.now()
      pattern.test(`${"a".repeat(100_000)}${" ".repeat(100_000)}!`)
      expect(performance.now() - started).toBeLessThan(2000)
    },
  )

  test("what lies behind the end of the search still counts for what comes before it", () => {
    expect(compileLinearPattern("a$").test("aab", 0, 2, 3)).toBe(false)
    expect(compileLinearPattern("a\\b").test("aab", 0, 2, 3)).toBe(false)
    expect(compileLinearPattern("a\\B").test("aab", 0, 2, 3)).toBe(true)
    expect(compileLinearPattern("b").test("aab", 0, 2, 3)).toBe(false)
  })

  test.each([
    ["abc", "abc"],
    ["a(?:bc)d", "abcd"],
    ["\\bfunction\\s+add", "function"],
    ["ab?cd", "cd"],
    ["a{2}b", "b"],
    ["a|b", undefined],
    ["[ab]\\d", undefined],
    ["^x\\u{1F600}$", "x😀"],
  ])("%s cannot match without %s", (source, literal) => {
    expect(compileLinearPattern(source).literal).toBe(literal)
    expect(compileLinearPattern("abc", { ignoreCase: true }).literal).toBeUndefined()
  })

  test("multiline: ^ and $ are the ends of lines", () => {
    expect(compileLinearPattern("^b$", { multiline: true }).test("a\nb\nc")).toBe(true)
    expect(compileLinearPattern("^b$").test("a\nb\nc")).toBe(false)
    expect(compileLinearPattern("a$\\n^$\\n^b", { multiline: true }).test("a\n\nb")).toBe(true)
  })

  test("a scan tells where the first match ends, and knows what stands before it", () => {
    const scan = (source: string, text: string, start: number, after = -1) =>
      compileLinearPattern(source, { multiline: true }).scan(text, start, after).advance(text.length)
    expect(scan("b+", "abbb", 0)).toBe(2)
    expect(scan("b+", "abbb", 0, 2)).toBe(3)
    expect(scan("b+", "abbb", 3)).toBe(4)
    expect(scan("\\bb", "abbb", 1)).toBe(-1)
    expect(scan("^b", "abb", 1)).toBe(-1)
    expect(scan("^b", "a\nb", 2)).toBe(3)
  })

  test("agrees with JavaScript's engine on arbitrary small patterns and texts", () => {
    // No surrogate pairs: V8 finds a \\B inside one, which the specification does not.
    const character = fc.constantFrom("a", "b", "B", " ", "é", "中", "\n")
    const leaf = fc.oneof(
      character,
      fc.constantFrom(".", "\\w", "\\W", "\\s", "\\d", "\\b", "\\B", "^", "$", "[ab]", "[^ab]", "[a-z]", "[^\\s中]"),
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
    fc.assert(
      fc.property(node, text, fc.boolean(), fc.boolean(), (source, subject, ignoreCase, multiline) => {
        const flags = `u${ignoreCase ? "i" : ""}${multiline ? "m" : ""}`
        const pattern = compileLinearPattern(source, { ignoreCase, multiline })
        const expected = new RegExp(source, flags).test(subject)
        expect(pattern.test(subject)).toBe(expected)
        if (expected && pattern.literal !== undefined) expect(subject).toContain(pattern.literal)
        const whole = pattern.scan(subject, 0, -1).advance(subject.length)
        expect(whole !== -1).toBe(expected)
        const inParts = pattern.scan(subject, 0, -1)
        const ends = Array.from(`${subject}.`, (_, last) => inParts.advance(last))
        expect(ends.find((end) => end !== -1) ?? -1).toBe(whole)
      }),
      { numRuns: 3000 },
    )
  })
})
