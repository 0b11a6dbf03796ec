import fc from "fast-check"
import { expect, test } from "vitest"
import { elementSpans, memberSpans } from "./json-spans.ts"

test("json spans finds every member and element in any layout", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom("", " ", "\t", "  "), fc.boolean(), (value, indent, crlf) => {
      const written = `\n ${JSON.stringify(value, null, indent)} \n`
      const text = crlf ? written.replaceAll("\n", "\r\n") : written
      const parsed = (span: { start: number; end: number } | undefined) =>
        JSON.parse(text.slice(span?.start, span?.end)) as unknown
      if (Array.isArray(value)) {
        expect(elementSpans(text, 0).map(parsed)).toEqual(JSON.parse(text))
      } else if (typeof value === "object" && value !== null) {
        const members = memberSpans(text, 0)
        expect([...members.keys()]).toEqual(Object.keys(value))
        for (const [name, span] of members) expect(parsed(span)).toEqual((JSON.parse(text) as typeof value)[name])
      }
    }),
    { numRuns: 2000 },
  )
})

test("json spans ignores brackets in strings and uses the last of two equal members", () => {
  const text = '{"a\\"}": "]}\\\\", "b":[1,-2.5e3 ,"[",{"c":null}\n],"b" :true}'
  const values = Array.from(memberSpans(text, 0), ([name, { start, end }]) => [name, text.slice(start, end)])
  expect(values).toEqual([
    ['a"}', '"]}\\\\"'],
    ["b", "true"],
  ])
  const elements = elementSpans(text, text.indexOf("[1")).map(({ start, end }) => text.slice(start, end))
  expect(elements).toEqual(["1", "-2.5e3", '"["', '{"c":null}'])
  expect([elementSpans("[ ]", 0), [...memberSpans("{ }", 0)]]).toEqual([[], []])
})

test("json spans handles any nesting depth", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
  expect(elementSpans(`[${deep},1]`, 0)).toEqual([
    { start: 1, end: 200_001 },
    { start: 200_002, end: 200_003 },
  ])
})
