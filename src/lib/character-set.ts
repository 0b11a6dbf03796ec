/** Code points as inclusive ranges, sorted, neither touching nor overlapping. */
export type CharacterSet = readonly (readonly [from: number, to: number])[]

export const digits: CharacterSet = [[0x30, 0x39]]

export const wordCharacters: CharacterSet = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]

/** What JavaScript's `\s` matches. */
export const spaces: CharacterSet = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]

/** What JavaScript's `.` does not match. */
export const lineBreaks: CharacterSet = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]

export function union(...sets: readonly CharacterSet[]): CharacterSet {
  const merged: [number, number][] = []
  for (const [from, to] of sets.flat().sort((left, right) => left[0] - right[0])) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

export function invert(set: CharacterSet): CharacterSet {
  const inverted: [number, number][] = []
  let next = 0
  for (const [from, to] of set) {
    if (from > next) inverted.push([next, from - 1])
    next = to + 1
  }
  if (next <= lastCodePoint) inverted.push([next, lastCodePoint])
  return inverted
}

/** Adds the other case of every member. Very wide ranges hold both cases already, or scripts that have none. */
export function foldCase(set: CharacterSet): CharacterSet {
  const added: [number, number][] = []
  for (const [from, to] of set) {
    if (to - from > widestFold) continue
    for (let code = from; code <= to; code++) {
      const character = String.fromCodePoint(code)
      for (const other of [character.toLowerCase(), character.toUpperCase()]) {
        const otherCode = other.codePointAt(0) ?? code
        // Some letters have more than one letter in the other case: those stay as they are.
        if (otherCode !== code && other === String.fromCodePoint(otherCode)) added.push([otherCode, otherCode])
      }
    }
  }
  return union(set, added)
}

export function contains(set: CharacterSet, code: number): boolean {
  return set.some(([from, to]) => from <= code && code <= to)
}

const lastCodePoint = 0x10ffff
const widestFold = 0x2000
