import { expect, test } from "vitest"
import { withEscapes } from "../lib/text/hidden-characters.ts"
import { invocation } from "./arguments.ts"
import { clip, dollars, duration, modelLabel, shortArguments, tokens, visible } from "./format.ts"

test("characters that control a terminal are made visible; line feeds, tabs and letters stay", () => {
  expect(visible("a\u001b[2Jb\r\nc\td\u0007\u009b\u202eé灯")).toBe("a␛[2Jb\nc\td␇\ufffd\ufffdé灯")
})

test("invisible characters are made visible; joiners of an emoji stay", () => {
  const hidden = [
    "\u200b",
    "\u200f",
    "\u2028",
    "\u2060",
    "\u00ad",
    "\ufeff",
    "\u061c",
    "\u3164",
    "\u{e0041}",
    "\u{e0100}",
    "\ufe0f",
  ]
  expect(hidden.map((character) => visible(`a${character}b`))).toEqual(hidden.map(() => "a\ufffdb"))
  expect(visible("👩\u200d👧 ✔\ufe0f ok")).toBe("👩\u200d👧 ✔\ufe0f ok")
})

test("printed JSON contains no control or invisible characters and has the same value", () => {
  const value = { text: "a\u009bb\u202ec\u200bd\u{e0041}e\u2028" }
  const printed = withEscapes(JSON.stringify(value))
  expect(printed).toBe('{"text":"a\\u009bb\\u202ec\\u200bd\\udb40\\udc41e\\u2028"}')
  expect(JSON.parse(printed)).toEqual(value)
})

test("a clipped text is one line and never ends inside a character", () => {
  expect(clip("one\n  two", 20)).toBe("one two")
  expect(clip("abc😀def", 5)).toBe("abc…")
})

test("a call's summary starts with its main argument", () => {
  expect(shortArguments({ path: ".", pattern: "a|b" })).toBe("a|b path=.")
  expect(shortArguments({ content: "x".repeat(500), path: "report.md" })).toBe("report.md content=(500 characters)")
  expect(shortArguments({ deep: { a: [1, true] } })).toBe('deep={"a":[1,true]}')
  expect([null, "text", {}].map((args) => shortArguments(args))).toEqual(["", "text", ""])
})

test("times and token counts are formatted for people", () => {
  expect([7, 1500, 59_999, 61_000, 3_700_000].map(duration)).toEqual(["7ms", "1.5s", "59s", "1m 01s", "1h 01m"])
  expect([1, 9999, 12_345, 123_456, null].map(tokens)).toEqual([
    "1 token",
    "9999 tokens",
    "12.3k tokens",
    "123k tokens",
    "unknown tokens",
  ])
})

test("the offline model is labelled under both of its names", () => {
  expect(["offline", "offline:offline", "anthropic:x"].map(modelLabel)).toEqual([
    "offline model: rules, not an LLM",
    "offline model: rules, not an LLM",
    "anthropic:x",
  ])
})

test("an unknown or very small cost is not shown as zero", () => {
  expect([null, 0, 0.00001, 0.01234, 12.5].map(dollars)).toEqual([
    "cost unknown",
    "$0.0000",
    "<$0.0001",
    "$0.0123",
    "$12.5000",
  ])
})

test("suggested commands start the program the same way as now", () => {
  expect(invocation("/usr/bin/longhaul", {})).toBe("longhaul")
  expect(invocation("/x/node_modules/.bin/longhaul", { npm_command: "exec" })).toBe("npx longhaul")
  expect(invocation(`${process.cwd()}/dist/cli/main.js`, {})).toBe("node dist/cli/main.js")
})
