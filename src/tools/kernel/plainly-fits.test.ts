import { Validator } from "@cfworker/json-schema"
import fc from "fast-check"
import { expect, test } from "vitest"
import type { Json, JsonSchema } from "../../contract/json.ts"
import { plainlyFits } from "./plainly-fits.ts"

const { schema } = fc.letrec<{ schema: object; leaf: object }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom(
      { type: "string" },
      { type: "number" },
      { type: "integer" },
      { type: "boolean" },
      { enum: ["a", 1, null] },
    ),
    fc.constantFrom(
      { type: "string", minLength: 2 },
      { type: ["string", "null"] },
      { const: 1 },
      { type: "string", enum: ["a"] },
      {},
    ),
  ),
  schema: fc.oneof(
    { maxDepth: 3 },
    tie("leaf"),
    fc.record({ type: fc.constant("array"), items: tie("schema") }, { requiredKeys: ["type"] }),
    fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(fc.constantFrom("a", "b", "toString"), tie("schema")),
        required: fc.uniqueArray(fc.constantFrom("a", "b", "toString"), { maxLength: 2 }),
        additionalProperties: fc.oneof(fc.boolean(), fc.constant({ type: "string" })),
      },
      { requiredKeys: ["type"] },
    ),
  ),
}))

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(
    fc.constantFrom("a", "b", "toString", "other"),
    fc.oneof(fc.constantFrom("a", "bb", 1, 1.5, true, null), fc.array(fc.integer())),
  ),
)

test("plainlyFits is true only if the schema library agrees, and is true for plainly valid arguments", () => {
  let agreed = 0
  fc.assert(
    fc.property(schema, value, (generated, argument) => {
      if (!plainlyFits(argument as Json, generated as JsonSchema)) return
      agreed++
      expect(new Validator(structuredClone(generated), "2020-12", false).validate(argument).valid).toBe(true)
    }),
    { numRuns: 3000 },
  )
  expect(agreed).toBeGreaterThan(100)
  const path: JsonSchema = {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  }
  expect(plainlyFits({ path: "a.md" }, path)).toBe(true)
  expect(plainlyFits({ path: 3 }, path)).toBe(false)
  expect(plainlyFits({ path: "a", more: 1 }, path)).toBe(false)
  expect(plainlyFits({}, path)).toBe(false)
})
