import fc from "fast-check"
import { expect, test } from "vitest"
import type { Json, JsonObject } from "../contract/json.ts"
import { canonicalJson } from "./json.ts"

test("canonical JSON text is stable, because journals contain digests of it", () => {
  const value = { b: [1, { z: null, a: "" }, []], 10: true, 9: "ü\n", a: {} }
  expect(canonicalJson(value)).toBe('{"10":true,"9":"ü\\n","a":{},"b":[1,{"a":"","z":null},[]]}')
  expect(["", 0, false, null, [[]], [""]].map((each) => canonicalJson(each as Json))).toEqual([
    '""',
    "0",
    "false",
    "null",
    "[[]]",
    '[""]',
  ])
})

test("canonical JSON is independent of key order", () => {
  const shuffled = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(shuffled)
    if (value === null || typeof value !== "object") return value
    const entries = Object.entries(value as JsonObject).reverse()
    return Object.fromEntries(entries.map(([key, each]) => [key, shuffled(each as Json)]))
  }
  fc.assert(
    fc.property(fc.jsonValue(), (given) => {
      const value = given as Json
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value))
    }),
  )
})
