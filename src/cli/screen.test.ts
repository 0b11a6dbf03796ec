import picocolors from "picocolors"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { fakeTerminal } from "../../test/support/fake-terminal.ts"
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

test("the status line shows the current activity in place and disappears at the end", () => {
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

test("a terminal is redrawn at most ten times a second", () => {
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

test("streamed text is wrapped at words to the terminal, and wide characters count as two columns", () => {
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

test("a permanent line is cut at the terminal width, and colours take no columns", () => {
  const terminal = fakeTerminal(21)
  const screen = liveScreen(terminal)
  screen.line(`${picocolors.createColors(true).red("one two three four")} five six`)
  screen.close()
  expect(terminal.text()).toBe("\u001b[31mone two three four\u001b[39m\nfive six\n")
})

test("a retry shows the reason and delay, and that the text before it is discarded", () => {
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
    "↻ stream_incomplete: The answer ended early: retrying in 1.5s (attempt 2); the text above is discarded",
    "A whole answer",
  ])
})

test("with stdout in a pipe and stderr on a terminal, lines go to stdout and the status to stderr", () => {
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

test("a pipe gets only lines", () => {
  const pipe = fakeTerminal(60)
  const progress = createProgress({ screen: plainScreen(pipe), colours })
  progress.onEvent({ type: "text-delta", id: "1.0", delta: "void" })
  progress.onEvent(record({ type: "text-end", turn: 1, id: "1.0", text: "One\nTwo\n" }))
  vi.advanceTimersByTime(1000)
  progress.close()
  expect(pipe.text()).toBe("One\nTwo\n")
})

test("the status shows dollars next to tokens, and none if the price is unknown", () => {
  const terminal = fakeTerminal(80)
  const progress = createProgress({ screen: liveScreen(terminal), colours })
  const spend = (costUsd: number | null) => {
    progress.onEvent(record({ type: "usage", turn: 1, usage: { ...usage, costUsd }, model: "m", stopReason: "end" }))
    vi.advanceTimersByTime(100)
    return terminal.lines().at(-1)
  }
  progress.onEvent(record({ type: "turn-start", turn: 1 }))
  expect(spend(0)).toMatch(/ 1000 tokens · 100ms$/)
  expect(spend(0.0123)).toMatch(/ 2000 tokens · \$0\.0123 · 200ms$/)
  expect(spend(0.1)).toMatch(/ 3000 tokens · \$0\.1123 · 300ms$/)
  expect(spend(null)).toMatch(/ 4000 tokens · 400ms$/)
  progress.close()
})

test("a steering message is shown with its reason", () => {
  const pipe = fakeTerminal(60)
  const progress = createProgress({ screen: plainScreen(pipe), colours })
  progress.onEvent(record({ type: "steer", text: "Leave the\nharbour\u001b[2J out." }))
  progress.onEvent(record({ type: "steer", text: "Answer with JSON alone.", reason: "repair" }))
  progress.onEvent(record({ type: "steer", text: "Go on.", reason: "output-limit" }))
  expect(pipe.lines()).toEqual([
    "▸ sent to the model: Leave the harbour␛[2J out.",
    "▸ sent to the model because its answer did not match the schema: Answer with JSON alone.",
    "▸ sent to the model because its answer was cut at the output limit: Go on.",
  ])
})

test("the status shows the command that Bash runs next to its output", () => {
  const terminal = fakeTerminal(80)
  const progress = createProgress({ screen: liveScreen(terminal), colours })
  const args = { command: `npm test -- ${"x".repeat(60)}\u001b[2J` }
  progress.onEvent(record({ type: "tool-call", turn: 1, callId: "1.0", name: "Bash", args }))
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual([expect.stringMatching(/^. running Bash npm test -- x{27}… · 100ms$/)])
  progress.onEvent({ type: "tool-progress", callId: "1.0", message: "12 passed\n" })
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual([expect.stringMatching(/^. Bash npm test -- x{27}…: 12 passed · 200ms$/)])
  progress.close()
})

test("a call made before the resume is shown with its name and arguments", () => {
  const terminal = fakeTerminal(80)
  const open = [
    { id: "1.0", name: "Write", args: { path: "a.md" }, result: null, status: "pending", durationMs: 0 } as const,
  ]
  const progress = createProgress({ screen: liveScreen(terminal), colours, open })
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual([expect.stringContaining("running Write")])
  const outcome = { status: "ok", output: [] }
  progress.onEvent(record({ type: "tool-result", callId: "1.0", outcome, durationMs: 3 }))
  progress.close()
  expect(terminal.lines()).toEqual(["✓ Write a.md 3ms"])
})

test("the user's input is shown below the status and removed with it", () => {
  const terminal = fakeTerminal(60)
  let typed = "> al"
  const progress = createProgress({ screen: liveScreen(terminal), colours, typed: () => typed })
  progress.onEvent({ type: "text-delta", id: "1.0", delta: "Hello" })
  vi.advanceTimersByTime(100)
  typed = "> also"
  vi.advanceTimersByTime(100)
  expect(terminal.lines()).toEqual(["Hello", expect.stringContaining("writing"), "> also"])
  progress.onEvent(record({ type: "text-end", turn: 1, id: "1.0", text: "Hello" }))
  progress.close()
  expect(terminal.lines()).toEqual(["Hello"])
})

test("a text drawn before its end is finished once", () => {
  const terminal = fakeTerminal(60)
  const progress = createProgress({ screen: liveScreen(terminal), colours })
  progress.onEvent({ type: "text-delta", id: "1.0", delta: "Hello" })
  vi.advanceTimersByTime(100)
  progress.onEvent(record({ type: "text-end", turn: 1, id: "1.0", text: "Hello" }))
  progress.close()
  expect(terminal.text()).toMatch(/Hello\n$/)
})
