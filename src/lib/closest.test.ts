import { expect, test } from "vitest"
import { closest } from "./closest.ts"

test("the closest word is suggested only if it is close", () => {
  const commands = ["run", "runs", "show", "simulate"]
  expect(["shwo", "rn", "sim", "deploy"].map((word) => closest(word, commands))).toEqual([
    "show",
    "run",
    "simulate",
    undefined,
  ])
})
