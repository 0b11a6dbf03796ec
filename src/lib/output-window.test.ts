import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { OutputWindow } from "./output-window.ts"

const bytesOf = (text: string) => new TextEncoder().encode(text)

function windowOf(maxBytes: number, ...pieces: readonly (string | Uint8Array)[]): OutputWindow {
  const window = new OutputWindow(maxBytes)
  for (const piece of pieces) window.add(typeof piece === "string" ? bytesOf(piece) : piece)
  return window
}

describe("OutputWindow", () => {
  test("an output window returns all text that fits, then only new text", () => {
    const window = windowOf(10, "abc", "defgh", "ij")
    expect(window.take(true)).toEqual({ text: "abcdefghij", leftOutBytes: 0 })
    window.add(bytesOf("k"))
    expect(window.take(true)).toEqual({ text: "k", leftOutBytes: 0 })
    expect(window.take(false)).toEqual({ text: "", leftOutBytes: 0 })
  })

  test("an output window keeps the first and last part of long text", () => {
    const expected = { text: "abc\n[… 4 bytes omitted …]\nhij", leftOutBytes: 4 }
    expect(windowOf(6, "abcdefghij").take(false)).toEqual(expected)
    expect(windowOf(6, ..."abcdefghij").take(false)).toEqual(expected)
    expect(windowOf(6, "ab", "cdefghi", "j").take(false)).toEqual(expected)
  })

  test("an output window never cuts inside a character", () => {
    expect(windowOf(8, "ab€€€€cd").take(false)).toEqual({
      text: "ab\n[… 12 bytes omitted …]\ncd",
      leftOutBytes: 12,
    })
  })

  test("a partial character waits for its rest, and is replaced if none comes", () => {
    const euro = bytesOf("€")
    const window = windowOf(100, "a", euro.subarray(0, 2))
    expect(window.take(true).text).toBe("a")
    window.add(euro.subarray(2))
    expect(window.take(true).text).toBe("€")
    window.add(euro.subarray(0, 2))
    expect(window.take(false).text).toBe("\ufffd")
  })

  test("invalid UTF-8 is replaced, and a byte order mark stays", () => {
    expect(windowOf(100, new Uint8Array([0x61, 0xff, 0x62])).take(false).text).toBe("a\ufffdb")
    expect(windowOf(100, "\ufeffa").take(false).text).toBe("\ufeffa")
  })

  test("any chunking of the input gives the same text", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), fc.integer({ min: 8, max: 60 }), (pieces, maxBytes) => {
        const whole = pieces.join("")
        const size = bytesOf(whole).length
        const { text, leftOutBytes } = windowOf(maxBytes, ...pieces).take(false)
        expect(text).toBe(windowOf(maxBytes, whole).take(false).text)
        if (size <= maxBytes) {
          expect(text).toBe(whole)
          return
        }
        const [head = "", tail = ""] = text.split(`\n[… ${leftOutBytes} bytes omitted …]\n`)
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true)
        expect(bytesOf(head).length + bytesOf(tail).length + leftOutBytes).toBe(size)
        expect(leftOutBytes).toBeLessThanOrEqual(size - maxBytes + 6)
      }),
    )
  })
})
