import { expect, test } from "vitest"
import { imageSizeOf, imageTypeOf, isPdf } from "./media.ts"

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? Array.from(part, (c) => c.charCodeAt(0)) : part)))

const zeros = (count: number) => Array<number>(count).fill(0)

/** The first bytes of each kind of file, all of 300 × 200 pixels. */
const heads: readonly (readonly [name: string, type: string, head: Uint8Array])[] = [
  ["PNG", "image/png", bytes("\x89PNG\r\n\x1a\n", zeros(4), "IHDR", [0, 0, 1, 44, 0, 0, 0, 200])],
  ["GIF", "image/gif", bytes("GIF89a", [44, 1, 200, 0])],
  [
    "JPEG",
    "image/jpeg",
    bytes("\xff\xd8\xff\xe0", [0, 4, 1, 1], "\xff\xc4", [0, 3, 0], "\xff\xff\xc2", [0, 11, 8, 0, 200, 1, 44]),
  ],
  ["lossy WebP", "image/webp", bytes("RIFF", zeros(4), "WEBPVP8 ", zeros(10), [44, 1, 200, 0])],
  ["lossless WebP", "image/webp", bytes("RIFF", zeros(4), "WEBPVP8L", zeros(4), [0x2f, 0x2b, 0xc1, 0x31, 0])],
  ["extended WebP", "image/webp", bytes("RIFF", zeros(4), "WEBPVP8X", zeros(8), [43, 1, 0, 199, 0, 0])],
]

test.each(heads)("the type and size of a %s are detected", (_, type, head) => {
  expect(imageTypeOf(head)).toBe(type)
  expect(imageSizeOf(head)).toEqual({ width: 300, height: 200 })
})

test.each(heads)("a truncated %s has no size and causes no error", (_, __, head) => {
  for (let length = 0; length < head.length - 4; length++) expect(imageSizeOf(head.subarray(0, length))).toBeUndefined()
})

test("other files are not detected as images", () => {
  for (const head of [bytes(), bytes("BM"), bytes("RIFF", zeros(4), "WAVE"), bytes("<svg"), bytes("GIF88a")]) {
    expect(imageTypeOf(head)).toBeUndefined()
    expect(imageSizeOf(head)).toBeUndefined()
  }
})

test("a PDF is detected by its first bytes", () => {
  expect(isPdf(bytes("%PDF-1.7"))).toBe(true)
  expect(isPdf(bytes("%PD"))).toBe(false)
})
