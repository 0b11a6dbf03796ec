import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseJsonWithComments } from "./json-with-comments.ts"

describe("comments and trailing commas", () => {
  test.each([
    ["a comment to the end of the line", '{ // why\n"a": 1 // because\n}', { a: 1 }],
    ["a comment over lines", '/* a\n * b "c" */ {"a": /* x */ 1}', { a: 1 }],
    ["trailing commas", '{"a": [1, 2,], "b": {"c": 3,},}', { a: [1, 2], b: { c: 3 } }],
    ["a comma, then a comment, then the end", '{"a": [1, // last\n],\n/* end */}', { a: [1] }],
    [
      "what looks like a comment in a string",
      '{"a": "http://x/*y*/", "b//c": "//"}',
      { a: "http://x/*y*/", "b//c": "//" },
    ],
    [
      "a quote and a backslash in a string",
      String.raw`["\"// not a comment", "\\", "// nor this"]`,
      ['"// not a comment', "\\", "// nor this"],
    ],
    ["what looks like a trailing comma in a string", '[",]", ",}"]', [",]", ",}"]],
    ["a byte order mark and Windows line ends", '\ufeff{\r\n// x\r\n"a": 1\r\n}\r\n', { a: 1 }],
    ["a comment behind the end", "[] // done", []],
  ])("JSON with comments and trailing commas is parsed: %s", (_, text, value) => {
    expect(parseJsonWithComments(text)).toEqual(value)
  })

  test("a key named __proto__ is an ordinary key", () => {
    const value = parseJsonWithComments('{"__proto__": {"a": 1}}')
    expect(Object.keys(value as object)).toEqual(["__proto__"])
  })

  test("every valid JSON text parses to the same value", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(0, 2), (text, indent) => {
        const value = JSON.parse(text)
        expect(parseJsonWithComments(JSON.stringify(value, null, indent))).toEqual(value)
      }),
    )
  })

  test("comments between any two tokens have no effect", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const plain = JSON.stringify(value)
        const commented = plain.replaceAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, '/* " */ $& // "\n')
        expect(parseJsonWithComments(commented)).toEqual(JSON.parse(plain))
      }),
    )
  })
})

describe("syntax errors name their line", () => {
  test.each([
    ['{\n"a": 1\n"b": 2}', "line 3: a comma or } is missing"],
    ['{\n"a" 1}', 'line 2: the colon after "a" is missing'],
    ["{a: 1}", "line 1: a key in double quotes is missing"],
    ["{'a': 1}", "line 1: invalid JSON"],
    ['{"a": \n}', "line 2: invalid JSON value"],
    ['{"a": 1', "line 1: a comma or } is missing"],
    ["", "line 1: the file ends too early"],
    ["// nothing\n", "line 2: the file ends too early"],
    ['["a\n"]', "line 1: unterminated string"],
    ["[]\n/* and so on", "line 2: unterminated comment"],
    ["[,]", "line 1: invalid JSON value"],
    ["[1,,2]", "line 1: invalid JSON value"],
    ["[1] 2", "line 1: unexpected content after the end"],
    ["[01]", "line 1: invalid JSON value"],
    ["[NaN]", "line 1: invalid JSON value"],
    ['["\\x"]', "line 1: invalid JSON value"],
    ["[".repeat(100_000), "line 1: brackets are nested more than 32 levels deep"],
  ])("a syntax error in %j names its line", (text, message) => {
    expect(() => parseJsonWithComments(text)).toThrow(new SyntaxError(message))
  })

  test("a syntax error quotes no value", () => {
    const texts = ['{"k": "hunter2" "x"}', '{"k": hunter2}', '{"k": "hunter2', '{"k": "hunter2\\x"}']
    for (const text of texts) expect(() => parseJsonWithComments(text)).toThrow(/^line 1: (?!.*hunter2)/)
  })
})

test("a key that is given twice is refused", () => {
  expect(() => parseJsonWithComments('{\n"a": 1,\n"a": 2 }')).toThrow('line 3: the key "a" is given twice')
  expect(parseJsonWithComments('{ "a": { "b": 1 }, "b": 2 }')).toEqual({ a: { b: 1 }, b: 2 })
})
