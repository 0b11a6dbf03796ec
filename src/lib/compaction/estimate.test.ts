import { expect, test } from "vitest"
import type { Message } from "../../contract/message.ts"
import { estimateFirstTurnInput, estimateMessage, estimateTokens } from "./estimate.ts"

// The numbers of tokens are those of the encoding o200k_base.
const samples: readonly (readonly [kind: string, text: string, tokens: number])[] = [
  ["an empty text", "", 0],
  ["words", "the quick brown fox jumps over the lazy dog", 9],
  ["a long name", "estimateFirstTurnInput", 4],
  ["digits", "1234567", 3],
  ["a line of code", "const tokens = text.length / 4\n", 9],
  ["minified JSON", '{"id":12,"name":"Ada","tags":["a","b"],"ok":true}', 21],
  ["a line of a log", "2026-11-16T08:15:30.123Z INFO  [db] query took 12ms", 25],
  [
    "a stack trace",
    'Traceback (most recent call last):\n  File "app.py", line 12, in <module>\n    main()\nZeroDivisionError: division by zero',
    32,
  ],
  ["Chinese", "今天天气很好", 4],
]

test.each(samples)("the estimate of %s is close to what a tokenizer counts", (_kind, text, tokens) => {
  const estimate = estimateTokens(text)
  expect(estimate).toBeGreaterThanOrEqual(Math.floor(0.8 * tokens))
  expect(estimate).toBeLessThanOrEqual(Math.ceil(1.5 * tokens))
})

test("each class of characters has its own rule", () => {
  expect(estimateTokens("a".repeat(12))).toBe(2)
  expect(estimateTokens("aB")).toBe(1)
  expect(estimateTokens("fooBarBaz")).toBe(3)
  expect(estimateTokens("123456")).toBe(2)
  expect(estimateTokens("{{{{")).toBe(2)
  expect(estimateTokens("a b")).toBe(2)
  expect(estimateTokens("a  b")).toBe(3)
  expect(estimateTokens("a\nb")).toBe(3)
  expect(estimateTokens("é".repeat(20))).toBe(17)
})

test("no text has more tokens than characters by the estimate, so that lengths are an upper bound", () => {
  for (const text of ["a1b2c3", "a,b,c", "\n.\n.", "é.é.", "A b C d", "1,2,3"])
    expect(estimateTokens(text)).toBeLessThanOrEqual(text.length)
})

test("a message counts its texts, calls, results and media", () => {
  const call: Message = {
    role: "assistant",
    content: [{ type: "tool-call", callId: "1.0", name: "Read", args: { path: "a" } }],
  }
  const image: Message = { role: "user", content: [{ type: "image", mediaType: "image/png", data: "AAAA" }] }
  expect(estimateMessage(call)).toBeGreaterThan(estimateTokens('Read{"path":"a"}'))
  expect(estimateMessage(image)).toBeGreaterThan(1_000)
})

test("the input of a first turn is its system prompt, its tools and its messages", { tags: ["CMP-03"] }, () => {
  const messages: Message[] = [{ role: "user", content: [{ type: "text", text: "Count the sheep." }] }]
  const tools = [{ name: "Count", description: "Counts.", inputSchema: { type: "object" as const } }]
  const bare = estimateFirstTurnInput({ messages })
  expect(bare).toBeLessThan(20)
  expect(estimateFirstTurnInput({ messages, system: "Be exact.", tools })).toBeGreaterThan(bare + 10)
})
