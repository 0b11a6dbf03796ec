import type { LinearPattern } from "../lib/linear-pattern.ts"

/** A line with a match: its number from 1, and where it is without its line break. */
export interface Line {
  readonly number: number
  readonly start: number
  readonly end: number
}

/** A search that shares its thread with others. */
export interface LineSearch {
  readonly pattern: LinearPattern
  /** A match may span lines. All lines of the shortest matches are told then. */
  readonly multiline: boolean
  charactersSinceYield: number
  stepsAtYield: number
}

/** Tells each matching line once and in order, until the answer is false. */
export async function eachMatchingLine(search: LineSearch, text: string, hear: (line: Line) => boolean): Promise<void> {
  const { literal } = search.pattern
  if (literal !== undefined && !text.includes(literal)) {
    // That is quick, and not for nothing.
    await pause(search, text.length / 16)
    return
  }
  await (search.multiline ? acrossLines : lineByLine)(search, text, hear)
}

const maxSearchedCharacters = 5000

async function lineByLine(search: LineSearch, text: string, hear: (line: Line) => boolean): Promise<void> {
  const { literal } = search.pattern
  let literalAt = -1
  let number = 0
  for (let start = 0; start < text.length; ) {
    number++
    const next = nextLine(text, start)
    if (literal !== undefined) {
      if (literalAt < start) literalAt = text.indexOf(literal, start)
      if (literalAt === -1) return
      if (literalAt >= next) {
        start = next
        continue
      }
    }
    const end = lineEnd(text, start, next)
    const searchedEnd = Math.min(end, start + maxSearchedCharacters)
    if (search.pattern.test(text, start, searchedEnd, end) && !hear({ number, start, end })) return
    const others = pause(search, searchedEnd - start + 1)
    if (others !== undefined) await others
    start = next
  }
}

async function acrossLines(search: LineSearch, text: string, hear: (line: Line) => boolean): Promise<void> {
  // The next line that was not told yet.
  let number = 1
  let start = 0
  // Matches that end here or before have nothing new.
  let after = -1
  for (let from = 0; start < text.length; ) {
    const range = { from, after, last: text.length }
    const end = await firstEnd(search, text, range)
    if (end === -1) return
    const first = await lastBeginning(search, text, { ...range, last: end })
    const stop = Math.max(end, first + 1)
    const hasNews = start < stop
    for (; start < stop && start < text.length; number++) {
      const next = nextLine(text, start)
      // Lines before the match are passed over.
      if (next > first && !hear({ number, start, end: lineEnd(text, start, next) })) return
      start = next
    }
    after = hasNews ? start - 1 : end
    if (hasNews) from = end
  }
}

/** Where a match may begin, after what it must end, and where at the latest. */
interface Range {
  readonly from: number
  readonly after: number
  readonly last: number
}

/** Where the line begins in which the shortest match that ends at `last` begins. */
async function lastBeginning(search: LineSearch, text: string, range: Range): Promise<number> {
  const matchesFrom = async (begin: number) => (await firstEnd(search, text, { ...range, from: begin })) !== -1
  // A match begins at `low` or later, none at `high` or later.
  let low = range.from
  let high = range.last + 1
  let begin = lineStart(text, range.last, range.from)
  for (let lines = 1; begin > range.from; lines *= 2) {
    if (await matchesFrom(begin)) {
      low = begin
      break
    }
    high = begin
    for (let count = 0; count < lines && begin > range.from; count++) begin = lineStart(text, begin - 1, range.from)
  }
  for (;;) {
    const middle = lineStart(text, Math.floor((low + high) / 2), low)
    const candidate = middle > low ? middle : nextLine(text, low)
    if (candidate >= high || candidate === low) return low
    if (await matchesFrom(candidate)) low = candidate
    else high = candidate
  }
}

/** Where the first match in a range ends, -1 where there is none. */
async function firstEnd(search: LineSearch, text: string, { from, after, last }: Range): Promise<number> {
  const scan = search.pattern.scan(text, from, after)
  for (let at = from; ; at += maxSearchedCharacters) {
    const found = scan.advance(Math.min(at + maxSearchedCharacters, last))
    if (found !== -1 || at + maxSearchedCharacters >= last) return found
    await pause(search, maxSearchedCharacters)
  }
}

/** The start of the line in which `at` is, not before `least`. */
function lineStart(text: string, at: number, least: number): number {
  return at <= least ? least : Math.max(least, text.lastIndexOf("\n", at - 1) + 1)
}

export function nextLine(text: string, start: number): number {
  const lineBreak = text.indexOf("\n", start)
  return lineBreak === -1 ? text.length : lineBreak + 1
}

export function lineEnd(text: string, start: number, next: number): number {
  const end = text.charCodeAt(next - 1) === 0x0a ? next - 1 : next
  return end > start && text.charCodeAt(end - 1) === 0x0d ? end - 1 : end
}

/** Lets others work after about ten milliseconds, by characters and by what the pattern had to work out. */
function pause(search: LineSearch, characters: number): Promise<void> | undefined {
  search.charactersSinceYield += characters
  const { charactersSinceYield, stepsAtYield, pattern } = search
  if (charactersSinceYield <= 500_000 && pattern.steps - stepsAtYield <= 100_000) return undefined
  search.charactersSinceYield = 0
  search.stepsAtYield = pattern.steps
  return new Promise((resolve) => setTimeout(resolve, 0))
}
