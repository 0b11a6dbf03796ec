import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { wellFormed } from "../../tools/kernel/content-parts.ts"
import { namesRef, previewOf } from "./preview.ts"

const bytesOf = (text: string) => new TextEncoder().encode(text).length
const preview = (rawContent: string, maxPreviewChars = 500) =>
  previewOf({ rawContent, rawBytes: bytesOf(rawContent), ref: "3.1", maxPreviewChars })
const sentence = (bytes: number) =>
  `[${bytes} bytes in all are stored. FetchData with ref "3.1" returns them, or a part: offset and limit, pointer, or find.]`

const isWellFormed = (text: string) => wellFormed(text) === text

describe("the preview of a long result", () => {
  test("an array is described by its count, its bytes and its first item", { tags: ["OFF-07"] }, () => {
    const text = JSON.stringify(
      Array.from({ length: 300 }, (_, id) => ({ id, name: `n${id}`, tags: ["a", null, true] })),
    )
    expect(preview(text)).toBe(
      `JSON array, 300 items, ${text.length} bytes. First item: {"id":0,"name":"n0","tags":["a",null,true]}\n${sentence(text.length)}`,
    )
    expect(preview("[]")).toBe(`JSON array, 0 items, 2 bytes.\n${sentence(2)}`)
  })

  test("an object is described by its keys with their kinds", { tags: ["OFF-07"] }, () => {
    const value = { items: [1, 2], total: 2, next: null, ok: true, text: "x".repeat(200), page: { a: 1 }, "a\nb": "s" }
    const text = JSON.stringify(value)
    expect(preview(text)).toBe(
      `JSON object, 7 keys, ${text.length} bytes. Keys: "items" (array of 2), "total" (number), "next" (null), "ok" (boolean), ` +
        `"text" (string of 200 characters), "page" (object with 1 key), "a\\nb" (string)\n${sentence(text.length)}`,
    )
  })

  test("any other text is shown by its first characters", { tags: ["OFF-07"] }, () => {
    expect(preview("abcdef".repeat(100), 10)).toBe(`abcdefabcd\n${sentence(600)}`)
    expect(preview('{"broken": ', 500)).toBe(`{"broken": \n${sentence(11)}`)
    expect(preview('"a JSON text"')).toBe(`"a JSON text"\n${sentence(13)}`)
  })

  test("a preview is not cut inside a character", { tags: ["OFF-07"] }, () => {
    expect(preview("😀".repeat(10), 5)).toBe(`😀😀\n${sentence(40)}`)
    expect(isWellFormed(preview(JSON.stringify(["😀".repeat(90)]), 60))).toBe(true)
  })

  test("a preview keeps its length and names the ref, whatever the result is", { tags: ["OFF-07"] }, () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.json()),
        fc.integer({ min: 1, max: 900 }),
        (text, room) => {
          const shown = preview(text, room)
          expect(shown.endsWith(sentence(bytesOf(text)))).toBe(true)
          expect(shown.length - sentence(bytesOf(text)).length - 1).toBeLessThanOrEqual(room)
          expect(preview(text, room)).toBe(shown)
        },
      ),
    )
  })

  test.each([
    ["arrays", "[".repeat(10_000) + "]".repeat(10_000)],
    ["objects", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`],
  ])("JSON of 10,000 nested %s has a short preview", { tags: ["OFF-07"] }, (_, text) => {
    expect(preview(text).length).toBeLessThan(700)
    expect(preview(text)).toContain('ref "3.1"')
  })

  test("a huge first item, a huge key and a million keys are not written out", () => {
    const huge = [{ [`k${"x".repeat(1e6)}`]: 1, a: Array.from({ length: 1e5 }, () => "y".repeat(20)) }]
    expect(preview(JSON.stringify(huge))).toMatch(/First item: \{"kx{99}…":1,"a":\["y+",/)
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 1e5 }, (_, index) => [`k${index}`, index])))
    expect(preview(many, 80)).toBe(
      `JSON object, 100000 keys, ${many.length} bytes. Keys: "k0" (number), "k1" (number), "k2\n${sentence(many.length)}`,
    )
  })
})

test.each([
  ["Use 1.0 to fetch", true],
  ["ref=1.0", true],
  ["at 1.0.", true],
  ["11.0", false],
  ["1.01", false],
  ["1.0.2", false],
  ["v1.0", false],
  ["none", false],
])("a preview %j names the ref 1.0: %s", (text, expected) => {
  expect(namesRef(text, "1.0")).toBe(expected)
})
