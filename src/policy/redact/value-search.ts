/** A text to find, and what replaces it. */
export interface Sought {
  readonly text: string
  readonly reference: string
}

/** `[at, end)` is to be replaced. */
export interface Hit {
  readonly at: number
  readonly end: number
  readonly reference: string
}

/**
 * Finds any of many texts at once (Wu–Manber): the last three characters of a window say how far the window can move. Most
 * characters of an ordinary text are never read.
 */
export class ValueSearch {
  /** Comparisons made so far: proves in tests that the work grows with the input only. */
  compared = 0
  /** The length of the longest text. */
  readonly longest: number
  /** The length of the shortest long text: the longer it is, the fewer characters are read. */
  readonly #window: number
  readonly #shifts: Uint8Array
  /** Texts of at least `LONG` characters by the hash of the end of their first window, longest first. */
  readonly #long = new Map<number, Sought[]>()
  readonly #short: readonly Sought[]
  /** Texts by their first character. */
  readonly #byStart = new Map<number, Sought[]>()
  /** 1 at the hash of the first two characters of each text. */
  readonly #starts = new Uint8Array(PAIRS)

  constructor(sought: readonly Sought[]) {
    const ordered = sought.toSorted((left, right) => right.text.length - left.text.length)
    const long = ordered.filter(({ text }) => text.length >= LONG)
    this.#window = Math.min(long.at(-1)?.text.length ?? LONG, MAX_WINDOW_LENGTH)
    this.#shifts = new Uint8Array(HASHES).fill(this.#window - BLOCK + 1)
    for (const each of ordered) {
      addTo(this.#byStart, each.text.charCodeAt(0), each)
      this.#starts[pairAt(each.text, 0)] = 1
    }
    for (const each of long) this.#addLong(each)
    this.longest = ordered[0]?.text.length ?? 0
    this.#short = ordered.slice(long.length)
  }

  /** Every hit in order, none overlapping: the first one wins, and of those that start together the longest. */
  hits(text: string): readonly Hit[] {
    let long = this.#nextLong(text, 0)
    if (long === undefined && this.#short.length === 0) return none
    // The next place of each short text is remembered: searching for it again after each hit would be quadratic.
    const short = this.#short.map((sought) => ({ sought, at: text.indexOf(sought.text) }))
    const hits: Hit[] = []
    for (;;) {
      let first = long
      for (const { sought, at } of short) {
        if (at !== -1 && (first === undefined || at < first.at)) first = hitAt(at, sought)
      }
      if (first === undefined) return hits
      hits.push(first)
      const { end } = first
      if (long !== undefined && long.at < end) long = this.#nextLong(text, end)
      for (const each of short) if (each.at !== -1 && each.at < end) each.at = text.indexOf(each.sought.text, end)
    }
  }

  /** The first place between `from` and `to` from which on the end of the text is the start of a longer sought text, or -1. */
  unfinished(text: string, from: number, to: number): number {
    for (let at = from; at < to; at++) {
      // A single character at the end has no pair.
      const isPossible = at + 1 === text.length || this.#starts[pairAt(text, at)] === 1
      if (isPossible && this.beginsAt(text, at)) return at
    }
    return -1
  }

  /** The longer sought text that the end of the text, from `at` on, is the start of. */
  beginsAt(text: string, at: number): Sought | undefined {
    const candidates = this.#byStart.get(text.charCodeAt(at))
    if (candidates === undefined) return undefined
    const rest = text.slice(at)
    return candidates.find((sought) => sought.text.length > rest.length && sought.text.startsWith(rest))
  }

  #addLong(sought: Sought): void {
    const { text } = sought
    for (let end = BLOCK - 1; end < this.#window; end++) {
      const hash = hashAt(text, end)
      const shift = this.#window - 1 - end
      if (shift < (this.#shifts[hash] ?? 0)) this.#shifts[hash] = shift
    }
    addTo(this.#long, hashAt(text, this.#window - 1), sought)
  }

  #nextLong(text: string, from: number): Hit | undefined {
    if (this.#long.size === 0) return undefined
    const shifts = this.#shifts
    const window = this.#window
    for (let end = from + window - 1; end < text.length; ) {
      const hash = hashAt(text, end)
      // Safe: a hash is always below the length of the table.
      const shift = shifts[hash] as number
      if (shift > 0) {
        end += shift
        continue
      }
      const at = end - window + 1
      for (const sought of this.#long.get(hash) ?? none) {
        this.compared++
        if (text.startsWith(sought.text, at)) return hitAt(at, sought)
      }
      end++
    }
    return undefined
  }
}

function hitAt(at: number, { text, reference }: Sought): Hit {
  return { at, end: at + text.length, reference }
}

function addTo(map: Map<number, Sought[]>, key: number, sought: Sought): void {
  const list = map.get(key)
  if (list) list.push(sought)
  else map.set(key, [sought])
}

/** Of the three characters that end at `end`. */
function hashAt(text: string, end: number): number {
  return (text.charCodeAt(end) ^ (text.charCodeAt(end - 1) << 5) ^ (text.charCodeAt(end - 2) << 10)) & (HASHES - 1)
}

/** A hash of the two characters from `at` on. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) << 6) ^ text.charCodeAt(at + 1)) & (PAIRS - 1)
}

const none: readonly never[] = []
const LONG = 8
const MAX_WINDOW_LENGTH = 32
const BLOCK = 3
const HASHES = 65_536
const PAIRS = 8192
