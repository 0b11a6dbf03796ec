import { type CharacterSet, contains, wordCharacters } from "./character-set.ts"

const lineFeed: CharacterSet = [[0x0a, 0x0a]]

/** Characters that no set of the pattern tells apart behave alike: a state needs one way per class, not per character. */
export class CharacterClasses {
  /** The class of each ASCII character. */
  readonly ascii = new Uint16Array(128)
  /** Not a character: the end of the text. */
  readonly end: number
  /** Class `n` runs from `#starts[n]` to the start of the next. */
  readonly #starts: readonly number[]
  readonly #members = new Map<CharacterSet, Uint8Array>()

  constructor(sets: readonly CharacterSet[]) {
    const starts = new Set([0])
    for (const [from, to] of [...sets, wordCharacters, lineFeed].flat()) starts.add(from).add(to + 1)
    this.#starts = [...starts].sort((left, right) => left - right)
    this.end = this.#starts.length
    for (let code = 0; code < 128; code++) this.ascii[code] = this.of(code)
    for (const set of [...sets, wordCharacters, lineFeed]) {
      this.#members.set(
        set,
        Uint8Array.from(this.#starts, (start) => (contains(set, start) ? 1 : 0)),
      )
    }
  }

  of(code: number): number {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] ?? 0) <= code) low = middle
      else high = middle - 1
    }
    return low
  }

  isWord(character: number): boolean {
    return this.within(character, wordCharacters)
  }

  isLineBreak(character: number): boolean {
    return this.within(character, lineFeed)
  }

  within(character: number, set: CharacterSet): boolean {
    return this.#members.get(set)?.[character] === 1
  }
}
