import type { ToolContext } from "../../contract/tool.ts"
import type { LinearPattern } from "../../lib/linear-pattern.ts"
import { stopIfAborted } from "../shared.ts"

/** A line with a match: its number from 1, and its range without its line break. */
export interface Line {
  readonly number: number
  readonly start: number
  readonly end: number
}

/** A search that shares its thread with other work. */
export interface LineSearch {
  readonly pattern: LinearPattern
  /** A match may span lines. All lines of the shortest matches are reported then. */
  readonly multiline: boolean
  readonly context: ToolContext
  /** Characters times instructions since the clock was last read. */
  work: number
  /** Time spent since the last yield, up to `countedAt`. */
  busyMs: number
  countedAt: number
}

/** Calls `hear` with each matching line once and in order, until it returns false. */
export async function eachMatchingLine(search: LineSearch, text: string, hear: (line: Line) => boolean): Promise<void> {
  search.countedAt = performance.now()
  await (search.multiline ? acrossLines : lineByLine)(search, text, hear)
  countTime(search)
}

const maxSearchedCharacters = 5000

async function lineByLine(search: LineSearch, text: string, hear: (line: Line) => boolean): Promise<void> {
  let number = 0
  for (let start = 0; start < text.length; ) {
    number++
    const next = nextLine(text, start)
    const end = lineEnd(text, start, next)
    const searched = Math.min(end - start, maxSearchedCharacters)
    if (search.pattern.test(text.slice(start, end), 0, searched) && !hear({ number, start, end })) return
    const others = pause(search, searched + 1)
    if (others !== undefined) await others
    start = next
  }
}

/** Matches up to half of this length are always found. */
function windowLength({ pattern }: LineSearch): number {
  return Math.floor(Math.min(Math.max(1_000_000 / pattern.size, maxSearchedCharacters), 10 * maxSearchedCharacters))
}

/** Reports the lines of minimal ranges that contain a match. */
async function acrossLines(search: LineSearch, text: string, hear: (line: Line) => boolean): Promise<void> {
  const length = windowLength(search)
  // The next line that was not reported yet.
  let number = 1
  let start = 0
  for (let from = 0; from < text.length; ) {
    const window = { from, to: Math.min(text.length, from + length) }
    const end = await firstEnd(search, text, window, start)
    if (end === -1) {
      if (window.to === text.length) return
      // The second half is searched again with the following text.
      from = lineStart(text, from + Math.floor(length / 2), from + Math.floor(length / 4))
      continue
    }
    const first = await lastBeginning(search, text, { from, to: end })
    for (; start < end; number++) {
      const next = nextLine(text, start)
      // Lines before the match are skipped.
      if (next > first && !hear({ number, start, end: lineEnd(text, start, next) })) return
      start = next
    }
    // The next match ends in a later line, so it starts in a later line. A cut match may contain more, which changes
    // nothing.
    from = start > end ? start : nextLine(text, first)
  }
}

interface Range {
  readonly from: number
  readonly to: number
}

/** The end line of the first match that ends after `reported`; -1 if there is none in the range. */
async function firstEnd(search: LineSearch, text: string, { from, to }: Range, reported: number): Promise<number> {
  if (reported >= to || !(await matches(search, text, { from, to }))) return -1
  // No match ends at `low` or before; one ends at `high` or before.
  let low = Math.max(from, reported)
  let high = Math.min(to, nextLine(text, low))
  for (let lines = 1; !(await matches(search, text, { from, to: high })); lines *= 2) {
    low = high
    for (let count = 0; count < lines && high < to; count++) high = Math.min(to, nextLine(text, high))
  }
  for (;;) {
    const middle = nextLine(text, Math.floor((low + high) / 2))
    const candidate = middle < high ? middle : nextLine(text, low)
    if (candidate >= high) return high
    if (await matches(search, text, { from, to: candidate })) high = candidate
    else low = candidate
  }
}

/** Start of the last line from which the range still has a match. */
async function lastBeginning(search: LineSearch, text: string, { from, to }: Range): Promise<number> {
  // A match starts at `low` or later; none at `high` or later.
  let low = from
  let high = to
  let begin = lineStart(text, to - 1, from)
  for (let lines = 1; begin > from; lines *= 2) {
    if (await matches(search, text, { from: begin, to })) {
      low = begin
      break
    }
    high = begin
    for (let count = 0; count < lines && begin > from; count++) begin = lineStart(text, begin - 1, from)
  }
  for (;;) {
    const middle = lineStart(text, Math.floor((low + high) / 2), low)
    const candidate = middle > low ? middle : nextLine(text, low)
    if (candidate >= high) return low
    if (await matches(search, text, { from: candidate, to })) low = candidate
    else high = candidate
  }
}

/** An empty match after the last line break belongs to the next line. */
async function matches(search: LineSearch, text: string, { from, to }: Range): Promise<boolean> {
  const { pattern } = search
  await pause(search, to - from)
  if (text.charCodeAt(to - 1) !== 0x0a) return pattern.test(text, from, to)
  return pattern.test(text, from, to - 1) || (pattern.test(text, from, to) && !pattern.test(text, to, to))
}

/** The start of the line that contains `at`, not before `least`. */
function lineStart(text: string, at: number, least: number): number {
  return least + text.slice(least, at).lastIndexOf("\n") + 1
}

export function nextLine(text: string, start: number): number {
  const lineBreak = text.indexOf("\n", start)
  return lineBreak === -1 ? text.length : lineBreak + 1
}

export function lineEnd(text: string, start: number, next: number): number {
  const end = text.charCodeAt(next - 1) === 0x0a ? next - 1 : next
  return end > start && text.charCodeAt(end - 1) === 0x0d ? end - 1 : end
}

const longestTurnMs = 10

/** Yields to other work. The clock is read after work of a tenth of a millisecond or more, depending on the pattern. */
function pause(search: LineSearch, characters: number): Promise<void> | undefined {
  search.work += characters * search.pattern.size
  if (search.work < 100_000) return undefined
  search.work = 0
  countTime(search)
  return search.busyMs < longestTurnMs ? undefined : othersTurn(search)
}

async function othersTurn(search: LineSearch): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0))
  stopIfAborted(search.context)
  search.busyMs = 0
  search.countedAt = performance.now()
}

function countTime(search: LineSearch): void {
  const now = performance.now()
  search.busyMs += now - search.countedAt
  search.countedAt = now
}
