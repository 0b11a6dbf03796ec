import { crc32 as oracle } from "node:zlib"
import fc from "fast-check"
import { expect, test } from "vitest"
import { crc32 } from "./crc32.ts"

test("crc32 agrees with zlib on any bytes and any range", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), (bytes, cut) => {
      const start = Math.min(cut, bytes.length)
      expect(crc32(bytes, start)).toBe(oracle(bytes.subarray(start)))
    }),
  )
})
