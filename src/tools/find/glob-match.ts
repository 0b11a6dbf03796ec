import { PatternError } from "../../lib/linear-pattern.ts"

/** Parts of a glob. `folders` matches nothing, or any text that ends with a slash. */
export type GlobToken =
  | { readonly type: "character"; readonly character: string }
  | { readonly type: "list"; readonly isNegated: boolean; readonly ranges: readonly GlobRange[] }
  | { readonly type: "one" | "some" | "anything" | "folders" }
  | { readonly type: "choice"; readonly rows: readonly (readonly GlobToken[])[] }

/** The codes of the first and last character. */
export type GlobRange = readonly [from: number, to: number]

/** Throws PatternError if the glob is too long. */
export function charactersOf(glob: string): readonly string[] {
  if (glob.length > maxLength) throw new PatternError(`is longer than ${maxLength} characters`)
  return [...glob]
}

/** Throws PatternError for a range in the wrong order. */
export function rangeOf(from: number, to: number): GlobRange {
  if (from > to) throw new PatternError("has a range in the wrong order")
  return [from, to]
}

/**
 * Takes at most time proportional to path times glob. Most paths are excluded by their beginning or end, which is
 * checked first.
 */
export function compileTokens(tokens: readonly GlobToken[]): (path: string) => boolean {
  const isOther = tokens.map(({ type }) => type !== "character")
  if (!isOther.includes(true)) {
    const text = literalText(tokens)
    return (path) => path === text
  }
  const [first, behind] = [isOther.indexOf(true), isOther.lastIndexOf(true) + 1]
  const prefix = literalText(tokens.slice(0, first))
  const suffix = literalText(tokens.slice(behind))
  const middle = new Positions(tokens.slice(first, behind))
  return (path) =>
    path.endsWith(suffix) &&
    path.startsWith(prefix) &&
    path.length >= prefix.length + suffix.length &&
    middle.match(path, prefix.length, path.length - suffix.length)
}

const maxLength = 1000

function literalText(tokens: readonly GlobToken[]): string {
  return tokens.map((token) => (token.type === "character" ? token.character : "")).join("")
}

/** A token and the next position. A choice has the start positions of its alternatives. */
type Place =
  | { readonly token: Exclude<GlobToken, { readonly type: "choice" }>; readonly next: number }
  | { readonly beginnings: readonly number[] }

const slash = 0x2f

/** All positions in a glob that a path may have reached. */
class Positions {
  readonly #places: Place[] = []
  readonly #start: number
  readonly #end: number
  /** By position: the number of characters read when it was last reached. */
  readonly #reachedAt: Uint32Array
  #current: number[] = []
  #read = 0

  constructor(tokens: readonly GlobToken[]) {
    this.#end = this.#place({ beginnings: [] })
    this.#start = this.#before(tokens, this.#end)
    this.#reachedAt = new Uint32Array(this.#places.length)
  }

  /** From the end to the start, so that each knows its successor. */
  #before(tokens: readonly GlobToken[], next: number): number {
    return tokens.reduceRight((following, token) => {
      if (token.type !== "choice") return this.#place({ token, next: following })
      return this.#place({ beginnings: token.rows.map((row) => this.#before(row, following)) })
    }, next)
  }

  #place(place: Place): number {
    return this.#places.push(place) - 1
  }

  match(text: string, from: number, to: number): boolean {
    this.#reachedAt.fill(0)
    this.#current = []
    this.#read = 1
    this.#enter(this.#start)
    for (let at = from; at < to; ) {
      const code = text.codePointAt(at) ?? 0
      at += code > 0xffff ? 2 : 1
      const standing = this.#current
      if (standing.length === 0) return false
      this.#current = []
      this.#read++
      for (const index of standing) this.#step(index, code)
    }
    return this.#reachedAt[this.#end] === this.#read
  }

  #step(index: number, code: number): void {
    const place = this.#places[index]
    if (place === undefined || "beginnings" in place) return
    const { token, next } = place
    switch (token.type) {
      case "character":
        if (token.character.codePointAt(0) === code) this.#enter(next)
        break
      case "list":
        if (token.ranges.some(([low, high]) => low <= code && code <= high) !== token.isNegated) this.#enter(next)
        break
      case "one":
        if (code !== slash) this.#enter(next)
        break
      case "some":
        if (code !== slash) this.#enter(index)
        break
      case "anything":
        this.#enter(index)
        break
      case "folders":
        this.#reach(index)
        if (code === slash) this.#enter(next)
    }
  }

  /** With the following positions that are reached without a character. */
  #enter(index: number): void {
    const place = this.#places[index]
    if (!this.#reach(index) || place === undefined) return
    if ("beginnings" in place) for (const beginning of place.beginnings) this.#enter(beginning)
    else if (isOptional.has(place.token.type)) this.#enter(place.next)
  }

  #reach(index: number): boolean {
    if (this.#reachedAt[index] === this.#read) return false
    this.#reachedAt[index] = this.#read
    this.#current.push(index)
    return true
  }
}

const isOptional: ReadonlySet<GlobToken["type"]> = new Set(["some", "anything", "folders"])
