import { createHash } from "node:crypto"
import fc from "fast-check"
import { expect, test } from "vitest"
import { sha256 } from "./sha256.ts"

test("sha256 agrees with the platform on any text", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 400, unit: "binary" }), (text) => {
      expect(sha256(text)).toBe(createHash("sha256").update(text, "utf8").digest("hex"))
    }),
  )
})
