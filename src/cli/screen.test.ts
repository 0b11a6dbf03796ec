import picocolors from "picocolors"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import type { RunEvent } from "../contract/event.ts"
import { createProgress } from "./progress.ts"
import { liveScreen, plainScreen } from "./screen.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const colours = picocolors.createColors(false)
const usage = { inputTokens: 900, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }

let seq = 0
const record = (body: object) => ({ seq: seq++, at: 0, ...body }) as RunEvent

test("the status line shows what goes on, in place, and is gone at the end", () => {
  const terminal = fakeTerminal(60)
  const progress = createProgress({ screen: liveScreen(terminal), colours })
  progress.onEvent(record({ type: "turn-start", turn: 1 }))
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual([expect.stringMatching(/^. waiting for the model · turn 1 · 0 tokens · 100ms$/)])

  progress.onEvent({ type: "reasoning-delta", id: "1.0", delta: "hm" })
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual([expect.stringContaining("thinking")])

  progress.onEvent({ type: "text-delta", id: "1.1", delta: "First line\nand a sec" })
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual(["First line", "and a sec", expect.stringContaining("writing")])

  progress.onEvent({ type: "text-delta", id: "1.1", delta: "ond" })
  progress.onEvent(record({ type: "text-end", turn: 1, id: "1.1", text: "First line\nand a second" }))
  progress.onEvent(record({ type: "tool-call", turn: 1, callId: "1.2", name: "Read", args: { path: "a.md" } }))
  progress.onEvent(record({ type: "usage", turn: 1, usage, model: "m", stopReason: "tool-calls" }))
  vi.advanceTimersByTime(100)
  const running = expect.stringMatching(/^. running Read · turn 1 · 1000 tokens · 400ms$/)
  expect(terminal.lines()).toEqual(["First line", "and a second", running])

  const outcome = { status: "error", output: [{ type: "text", text: "not_found: a.md\u001b[2J" }] }
  progress.onEvent(record({ type: "tool-result", callId: "1.2", outcome, durationMs: 12 }))
  progress.close()
  expect(terminal.lines()).toEqual(["First line", "and a second", "✗ Read a.md 12ms error: not_found: a.md␛[2J"])
})

test("a terminal is drawn at most ten times a second, however fast the text comes", () => {
  const terminal = fakeTerminal(60)
  const progress = createProgress({ screen: liveScreen(terminal), colours })
  for (let index = 0; index < 1000; index++) {
    progress.onEvent({ type: "text-delta", id: "1.0", delta: "word " })
    vi.advanceTimersByTime(1)
  }
  expect(terminal.writes()).toBeLessThanOrEqual(10)
  progress.close()
  expect(terminal.lines().join(" ").match(/word/g)).toHaveLength(1000)
})

test("text is cut where the terminal ends, between words, and wide characters count as two", () => {
  const terminal = fakeTerminal(21)
  const screen = liveScreen(terminal)
  screen.stream("one two three four five six")
  screen.close()
  expect(terminal.lines()).toEqual(["one two three four", "five six"])

  const narrow = fakeTerminal(21)
  const wide = liveScreen(narrow)
  wide.stream("灯".repeat(25))
  wide.close()
  expect(narrow.lines()).toEqual(["灯".repeat(10), "灯".repeat(10), "灯".repeat(5)])
})

test("a retry says why and how long, and that the text before it does not count", () => {
  const terminal = fakeTerminal(200)
  const progress = createProgress({ screen: liveScreen(terminal), colours })
  progress.onEvent({ type: "text-delta", id: "1.0", delta: "Half an ans" })
  const failure = { code: "stream_incomplete", message: "The answer ended early.", retryable: true }
  progress.onEvent(record({ type: "retry", turn: 1, attempt: 1, delayMs: 1500, failure }))
  progress.onEvent({ type: "text-delta", id: "1.0.1", delta: "A whole answer" })
  progress.onEvent(record({ type: "text-end", turn: 1, id: "1.0.1", text: "A whole answer" }))
  progress.close()
  expect(terminal.lines()).toEqual([
    "Half an ans",
    "↻ stream_incomplete: The answer ended early: trying again in 1.5s (attempt 2); the text above does not count",
    "A whole answer",
  ])
})

test("where stdout is a pipe and stderr a terminal, lines go to the one and the status to the other", () => {
  const terminal = fakeTerminal(60)
  const pipe = fakeTerminal(60)
  const progress = createProgress({ screen: liveScreen(terminal, pipe), colours })
  progress.onEvent({ type: "text-delta", id: "1.0", delta: "Hello" })
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual([expect.stringContaining("writing")])
  progress.onEvent(record({ type: "text-end", turn: 1, id: "1.0", text: "Hello" }))
  progress.close()
  expect(pipe.text()).toBe("Hello\n")
  expect(terminal.lines()).toEqual([])
})

test("in a pipe there are lines and nothing else", () => {
  const pipe = fakeTerminal(60)
  const progress = createProgress({ screen: plainScreen(pipe), colours })
  progress.onEvent({ type: "text-delta", id: "1.0", delta: "void" })
  progress.onEvent(record({ type: "text-end", turn: 1, id: "1.0", text: "One\nTwo\n" }))
  vi.advanceTimersByTime(1000)
  progress.close()
  expect(pipe.text()).toBe("One\nTwo\n")
})

/** A terminal that understands what the screen uses: line feed, carriage return, cursor up, erase to the end. */
function fakeTerminal(columns: number) {
  let rows = [""]
  let row = 0
  let column = 0
  const written: string[] = []

  function put(character: string): void {
    const line = (rows[row] ?? "").padEnd(column)
    rows[row] = line.slice(0, column) + character + line.slice(column + 1)
    column++
  }

  return {
    isTTY: true,
    columns,
    write(text: string) {
      written.push(text)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is driven with.
      for (const token of text.match(/\u001b\[\d*[A-Z]|[\s\S]/gu) ?? []) {
        const count = Number(token.slice(2, -1) || 1)
        if (token === "\n") {
          row++
          column = 0
          rows[row] ??= ""
        } else if (token === "\r") column = 0
        else if (token.endsWith("A") && token.length > 1) row -= count
        else if (token.endsWith("J") && token.length > 1)
          rows = [...rows.slice(0, row), (rows[row] ?? "").slice(0, column)]
        else put(token)
      }
    },
    text: () => written.join(""),
    writes: () => written.length,
    lines: () => rows.filter((line) => line !== ""),
  }
}
