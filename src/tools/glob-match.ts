import { PatternError } from "../lib/linear-pattern.ts"

/** Parts of a glob. `folders` stands for nothing, or for any text that ends with a slash. */
export type GlobToken =
  | { readonly type: "character"; readonly character: string }
  | { readonly type: "list"; readonly isNegated: boolean; readonly ranges: readonly GlobRange[] }
  | { readonly type: "one" | "some" | "anything" | "folders" }
  | { readonly type: "choice"; readonly rows: readonly (readonly GlobToken[])[] }

/** The codes of the first and of the last character. */
export type GlobRange = readonly [from: number, to: number]

/** For parsers. Throws PatternError where the glob is too long. */
export function charactersOf(glob: string): readonly string[] {
  if (glob.length > maxLength) throw new PatternError(`is longer than ${maxLength} characters`)
  return [...glob]
}

/** Throws PatternError for a range in the wrong order. */
export function rangeOf(from: number, to: number): GlobRange {
  if (from > to) throw new PatternError("has a range in the wrong order")
  return [from, to]
}

/** Takes time in proportion to the path times the glob at worst. Throws PatternError where there are too many choices. */
export function compileTokens(tokens: readonly GlobToken[]): (path: string) => boolean {
  const [first, ...others] = expand(tokens).map(compileRow)
  if (first === undefined) return () => false
  return others.length === 0 ? first : (path) => first(path) || others.some((matches) => matches(path))
}

const maxLength = 1000
const maxRows = 250

type PlainToken = Exclude<GlobToken, { readonly type: "choice" }>

/** A row for each way to choose. */
function expand(tokens: readonly GlobToken[]): PlainToken[][] {
  let rows: PlainToken[][] = [[]]
  for (const token of tokens) {
    if (token.type !== "choice") {
      for (const row of rows) row.push(token)
      continue
    }
    const chosen = token.rows.flatMap(expand)
    if (rows.length * chosen.length > maxRows) throw new PatternError(`has more than ${maxRows} alternatives`)
    rows = rows.flatMap((row) => chosen.map((each) => [...row, ...each]))
  }
  return rows
}

/** Most paths are told apart by how they begin or end. */
function compileRow(tokens: readonly PlainToken[]): (path: string) => boolean {
  const isCharacter = tokens.map(({ type }) => type === "character")
  const firstOther = isCharacter.indexOf(false)
  const prefix = textOf(firstOther === -1 ? tokens : tokens.slice(0, firstOther))
  if (firstOther === -1) return (path) => path === prefix
  const suffix = textOf(tokens.slice(isCharacter.lastIndexOf(false) + 1))
  const middle = tokens.slice(firstOther, isCharacter.lastIndexOf(false) + 1)
  const least = prefix.length + suffix.length
  const positions = new Positions(middle)
  return (path) =>
    path.length >= least &&
    path.endsWith(suffix) &&
    path.startsWith(prefix) &&
    positions.match(path, prefix.length, path.length - suffix.length)
}

function textOf(tokens: readonly PlainToken[]): string {
  return tokens.map((token) => (token.type === "character" ? token.character : "")).join("")
}

const slash = 0x2f

/** All places in a row of tokens at which a path may stand. */
class Positions {
  readonly #tokens: readonly PlainToken[]
  /** By place: how often a character had been read when it was last reached. */
  readonly #reachedAt: Uint32Array
  #now = 0
  #current: number[] = []

  constructor(tokens: readonly PlainToken[]) {
    this.#tokens = tokens
    this.#reachedAt = new Uint32Array(tokens.length + 1)
  }

  match(text: string, from: number, to: number): boolean {
    this.#restart()
    this.#enter(0)
    for (let at = from; at < to; ) {
      const code = text.codePointAt(at) ?? 0
      at += code > 0xffff ? 2 : 1
      const places = this.#current
      if (places.length === 0) return false
      this.#current = []
      this.#now++
      for (const place of places) this.#step(place, code)
    }
    return this.#reachedAt[this.#tokens.length] === this.#now
  }

  #restart(): void {
    this.#reachedAt.fill(0)
    this.#now = 1
    this.#current = []
  }

  #step(place: number, code: number): void {
    const token = this.#tokens[place]
    switch (token?.type) {
      case "character":
        if (token.character.codePointAt(0) === code) this.#enter(place + 1)
        break
      case "list":
        if (token.ranges.some(([low, high]) => low <= code && code <= high) !== token.isNegated) this.#enter(place + 1)
        break
      case "one":
        if (code !== slash) this.#enter(place + 1)
        break
      case "some":
        if (code !== slash) this.#enter(place)
        break
      case "anything":
        this.#enter(place)
        break
      case "folders":
        this.#reach(place)
        if (code === slash) this.#enter(place + 1)
    }
  }

  /** With the places behind it that take no character. */
  #enter(place: number): void {
    for (let at = place; this.#reach(at); at++) {
      const type = this.#tokens[at]?.type
      if (type !== "some" && type !== "anything" && type !== "folders") return
    }
  }

  #reach(place: number): boolean {
    if (this.#reachedAt[place] === this.#now) return false
    this.#reachedAt[place] = this.#now
    this.#current.push(place)
    return true
  }
}
