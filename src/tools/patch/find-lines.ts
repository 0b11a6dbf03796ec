export interface SearchOptions {
  /** The first allowed position. */
  readonly from: number
  /** Prefer the position nearest to this one; absent: the first. */
  readonly near?: number
  /** Prefer the end of the file if it matches there. */
  readonly atEnd?: boolean
}

/** Finds lines in a file: exactly, or else as loosely as needed. */
export type LineSearch = (wanted: readonly string[], options: SearchOptions) => number | undefined

/** From exact to loose: ignores differences that models introduce without noticing. */
const looks: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) => plainSigns(line).trim(),
]

export function createLineSearch(lines: readonly string[]): LineSearch {
  const seen = new Map<number, readonly string[]>([[0, lines]])
  const linesAs = (look: number, as: (line: string) => string) => {
    const known = seen.get(look) ?? lines.map(as)
    seen.set(look, known)
    return known
  }
  return (wanted, { from, near, atEnd = false }) => {
    const last = lines.length - wanted.length
    for (const isEndOnly of atEnd ? [true, false] : [false]) {
      for (const [look, as] of looks.entries()) {
        const place = placeOf(linesAs(look, as), wanted.map(as), isEndOnly ? Math.max(from, last) : from, near)
        if (place !== undefined) return place
      }
    }
    return undefined
  }
}

/** The nearest position from `from` on. Linear, however often the lines repeat. */
function placeOf(lines: readonly string[], wanted: readonly string[], from: number, near = from): number | undefined {
  const borders = bordersOf(wanted)
  let best: number | undefined
  let length = 0
  for (let at = from; at < lines.length; at++) {
    while (length > 0 && lines[at] !== wanted[length]) length = borders[length - 1] ?? 0
    if (lines[at] === wanted[length]) length++
    if (length < wanted.length) continue
    const place = at - length + 1
    if (best === undefined || Math.abs(place - near) < Math.abs(best - near)) best = place
    // Anything later is further away.
    if (place >= near) break
    length = borders[length - 1] ?? 0
  }
  return best
}

/** The failure function of Knuth-Morris-Pratt. */
function bordersOf(wanted: readonly string[]): readonly number[] {
  const borders = [0]
  let length = 0
  for (let at = 1; at < wanted.length; at++) {
    while (length > 0 && wanted[at] !== wanted[length]) length = borders[length - 1] ?? 0
    if (wanted[at] === wanted[length]) length++
    borders.push(length)
  }
  return borders
}

/** Typographic characters mapped to their ASCII forms. */
function plainSigns(line: string): string {
  return line
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[\u2018-\u201b]/g, "'")
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ")
}
