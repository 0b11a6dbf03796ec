import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { lastOfUtf8, truncateUtf8, utf8Length } from "./truncate.ts"

const encoder = new TextEncoder()
const anyText = fc.string({ unit: "binary", maxLength: 60 })

describe("truncateUtf8", () => {
  test("a text that fits is unchanged", () => {
    expect(truncateUtf8("héllo", { maxBytes: 6 })).toEqual({ text: "héllo", truncated: false, bytes: 0 })
  })

  test("a text is cut before a character that would not fit", () => {
    expect(truncateUtf8("héllo", { maxBytes: 2 })).toEqual({ text: "h", truncated: true, bytes: 5 })
    expect(truncateUtf8("a😀b", { maxBytes: 4 })).toEqual({ text: "a", truncated: true, bytes: 5 })
    expect(truncateUtf8("a😀b", { maxBytes: 5 })).toEqual({ text: "a😀", truncated: true, bytes: 1 })
  })

  test("characters are counted like length, and a cut never ends on half of one", () => {
    expect(truncateUtf8("a😀b", { maxBytes: 100, maxCharacters: 2 })).toEqual({ text: "a", truncated: true, bytes: 5 })
    expect(truncateUtf8("a😀b", { maxBytes: 100, maxCharacters: 3 }).text).toBe("a😀")
  })

  test("a limit of zero keeps nothing", () => {
    expect(truncateUtf8("abc", { maxBytes: 0 })).toEqual({ text: "", truncated: true, bytes: 3 })
    expect(truncateUtf8("", { maxBytes: 0 })).toEqual({ text: "", truncated: false, bytes: 0 })
  })

  test("a cut never splits a character, respects the limits and keeps as much as they allow", {
    tags: ["TOOL-25"],
  }, () => {
    fc.assert(
      fc.property(anyText, fc.nat(80), fc.nat(60), (text, maxBytes, maxCharacters) => {
        const cut = truncateUtf8(text, { maxBytes, maxCharacters })
        expect(text.startsWith(cut.text)).toBe(true)
        expect(encoder.encode(cut.text).length).toBeLessThanOrEqual(maxBytes)
        expect(cut.text.length).toBeLessThanOrEqual(maxCharacters)
        // Characters of the cut text are the first characters of the whole.
        expect([...text].slice(0, [...cut.text].length).join("")).toBe(cut.text)
        expect(cut.bytes).toBe(encoder.encode(text).length - encoder.encode(cut.text).length)
        expect(cut.truncated).toBe(cut.text !== text)
        const next = [...text][[...cut.text].length] ?? ""
        const longer = cut.text + next
        if (cut.truncated) {
          expect(encoder.encode(longer).length > maxBytes || longer.length > maxCharacters).toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test("bytes are counted as TextEncoder writes them, including lone surrogates", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }), (units) => {
        const text = String.fromCharCode(...units)
        expect(utf8Length(text)).toBe(encoder.encode(text).length)
      }),
    )
  })
})

test("lastOfUtf8 returns the longest end within the limits that starts with a whole character", () => {
  expect(lastOfUtf8("a😀b", { maxBytes: 4 })).toBe("b")
  expect(lastOfUtf8("a😀b", { maxBytes: 5 })).toBe("😀b")
  expect(lastOfUtf8("abc", { maxBytes: 0 })).toBe("")
  fc.assert(
    fc.property(anyText, fc.nat(80), fc.nat(60), (text, maxBytes, maxCharacters) => {
      const end = lastOfUtf8(text, { maxBytes, maxCharacters })
      const fits = (each: string) => encoder.encode(each).length <= maxBytes && each.length <= maxCharacters
      const characters = [...text]
      const kept = [...end].length
      expect(characters.slice(characters.length - kept).join("")).toBe(end)
      expect(fits(end)).toBe(true)
      if (end !== text) expect(fits((characters.at(-kept - 1) ?? "") + end)).toBe(false)
    }),
    { numRuns: 2000 },
  )
})
