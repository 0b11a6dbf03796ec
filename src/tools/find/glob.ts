import { PatternError } from "../../lib/linear-pattern.ts"
import { charactersOf, compileTokens, type GlobRange, type GlobToken, rangeOf } from "./glob-match.ts"

/**
 * `*`, `?`, `**`, `[abc]`, `[!abc]` and `{a,b}`; a backslash escapes them. A glob without a slash matches names, one
 * with a slash matches paths from the searched folder. Throws PatternError.
 */
export function compileGlob(glob: string): (path: string) => boolean {
  const tokens = parse(glob.replace(/^\.?\//, ""))
  return compileTokens(glob.includes("/") ? tokens : [{ type: "folders" }, ...tokens])
}

interface Reader {
  readonly characters: readonly string[]
  at: number
  /** No `]` is left. */
  listsAreOver: boolean
}

function parse(glob: string): readonly GlobToken[] {
  const reader: Reader = { characters: charactersOf(glob), at: 0, listsAreOver: false }
  /** The open choices, outermost first. */
  const open: GlobToken[][][] = [[[]]]
  for (; reader.at < reader.characters.length; reader.at++) {
    const character = reader.characters[reader.at] ?? ""
    const choice = open.at(-1) ?? []
    if (character === "{") open.push([[]])
    else if (character === "," && open.length > 1) choice.push([])
    else if (character === "}" && open.length > 1) {
      open.pop()
      open.at(-1)?.at(-1)?.push({ type: "choice", rows: choice })
    } else choice.at(-1)?.push(parseOne(reader, character))
  }
  if (open.length > 1) throw new PatternError('has a "{" without a matching "}"')
  return open[0]?.[0] ?? []
}

function parseOne(reader: Reader, character: string): GlobToken {
  const { characters, at } = reader
  const next = characters[at + 1]
  if (character === "?") return { type: "one" }
  if (character === "*" && next !== "*") return { type: "some" }
  if (character === "*") {
    const isFolders = characters[at + 2] === "/"
    reader.at += isFolders ? 2 : 1
    return { type: isFolders ? "folders" : "anything" }
  }
  const list = character === "[" ? parseList(reader) : undefined
  if (list !== undefined) return list
  if (character !== "\\" || next === undefined) return { type: "character", character }
  reader.at++
  return { type: "character", character: next }
}

/** From `[` to `]`. Undefined if there is none before the next slash, or nothing in between. */
function parseList(reader: Reader): GlobToken | undefined {
  const { characters, at } = reader
  if (reader.listsAreOver) return undefined
  let end = at + 1
  while (end < characters.length && characters[end] !== "]") end++
  reader.listsAreOver = end === characters.length
  const isNegated = characters[at + 1] === "!" || characters[at + 1] === "^"
  const members = characters.slice(at + (isNegated ? 2 : 1), end)
  if (reader.listsAreOver || members.length === 0 || members.includes("/")) return undefined
  reader.at = end
  const ranges: GlobRange[] = isNegated ? [codesOf("/", "/")] : []
  for (let index = 0; index < members.length; index++) {
    const first = members[index] ?? ""
    const isRange = members[index + 1] === "-" && index + 2 < members.length
    if (isRange) index += 2
    ranges.push(codesOf(first, members[index] ?? ""))
  }
  return { type: "list", isNegated, ranges }
}

function codesOf(first: string, last: string): GlobRange {
  return rangeOf(first.codePointAt(0) ?? 0, last.codePointAt(0) ?? 0)
}
