import { beforeCut, type Redact } from "../../lib/text/before-cut.ts"

/** The lines most similar to the sought ones, with their numbers, so that a model can see its mistake; empty: none. */
export function closestLines(text: string, wanted: string, redact: Redact): string {
  const lines = text.split("\n", MAX_LINES)
  const sought = wanted.split("\n").slice(0, MAX_SOUGHT).map(plain)
  const at = bestPlace(lines.map(plain), sought)
  if (at === undefined) return ""
  const shown = lines.slice(at, at + Math.min(sought.length, MAX_SHOWN))
  const numbered = shown.map((line, index) => `${at + index + 1}\t${clip(line.replace(/\r$/, ""), redact)}`)
  return `The closest lines:\n${numbered.join("\n")}`
}

/** Where most of the sought lines match, ignoring white space; at least one must. */
function bestPlace(lines: readonly string[], sought: readonly string[]): number | undefined {
  const places = new Map<string, number[]>()
  for (const [index, line] of sought.entries()) {
    if (line !== "") places.set(line, [...(places.get(line) ?? []), index])
  }
  // Each matching line is a vote for where the whole text would start.
  const votes = new Map<number, number>()
  for (const [index, line] of lines.entries()) {
    for (const offset of places.get(line) ?? []) votes.set(index - offset, (votes.get(index - offset) ?? 0) + 1)
  }
  let best: number | undefined
  for (const [place, count] of votes) {
    if (place >= 0 && (best === undefined || count > (votes.get(best) ?? 0))) best = place
  }
  return best ?? partlyAlike(lines, sought)
}

/** No line matches completely: finds one that contains a good part of the first sought line, or is part of it. */
function partlyAlike(lines: readonly string[], sought: readonly string[]): number | undefined {
  const first = sought.find((line) => line.length >= MIN_PART_LENGTH)
  if (first === undefined) return undefined
  const start = first.slice(0, Math.max(MIN_PART_LENGTH, first.length >> 1))
  const at = lines.findIndex((line) => line.includes(start) || (line.length >= MIN_PART_LENGTH && first.includes(line)))
  return at === -1 ? undefined : at
}

function plain(line: string): string {
  return line.trim().replace(/\s+/g, " ")
}

function clip(line: string, redact: Redact): string {
  const masked = beforeCut(line, MAX_CHARACTERS, redact)
  return masked.length > MAX_CHARACTERS ? `${masked.slice(0, MAX_CHARACTERS)}…` : masked
}

const MAX_LINES = 100_000
const MAX_SOUGHT = 50
const MAX_SHOWN = 20
const MAX_CHARACTERS = 200
const MIN_PART_LENGTH = 6
