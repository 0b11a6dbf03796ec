import { PatternError } from "../../lib/linear-pattern.ts"
import { charactersOf, compileTokens, type GlobRange, type GlobToken, rangeOf } from "./glob-match.ts"

/**
 * A glob of an ignore file, matched against whole paths whose bytes are given as characters. As in ripgrep: `?` and a
 * class match one byte of a name, a class may match a slash, and `**` means folders only if it stands alone between
 * slashes. Throws PatternError.
 */
export function compileIgnoreGlob(glob: string): (bytes: string) => boolean {
  const tokens = parse(glob)
  return tokens.length === 1 && tokens[0] === folders ? () => true : compileTokens(tokens)
}

/** One character per byte. */
export function bytesAsText(text: string): string {
  return /^\p{ASCII}*$/u.test(text) ? text : Array.from(utf8.encode(text), (byte) => String.fromCharCode(byte)).join("")
}

const one: GlobToken = { type: "one" }
const some: GlobToken = { type: "some" }
/** A `**` at the start, at the end or between two slashes, with the slashes. */
const folders: GlobToken = { type: "folders" }
const slash: GlobToken = { type: "character", character: "/" }
const below: GlobToken = { type: "choice", rows: [[slash, { type: "anything" }]] }
const between: GlobToken = { type: "choice", rows: [[slash, folders]] }
const nothing: GlobToken = { type: "choice", rows: [[]] }

interface Reader {
  readonly characters: readonly string[]
  at: number
  /** Set by a `[` without a matching `]`: this and all later ones are literal. */
  listsAreOver: boolean
  /** The open alternatives, outermost first; each a list of tokens. */
  readonly open: GlobToken[][][]
}

function parse(glob: string): readonly GlobToken[] {
  const reader: Reader = { characters: charactersOf(glob), at: 0, listsAreOver: false, open: [[[]]] }
  for (; reader.at < reader.characters.length; reader.at++) {
    const character = reader.characters[reader.at] ?? ""
    if (character === "{") reader.open.push([[]])
    else if (character === "}") closeBraces(reader)
    else if (character === "," && reader.open.length > 1) reader.open.at(-1)?.push([])
    else tokensOf(reader).push(...parseOne(reader, character))
  }
  if (reader.open.length > 1) throw new PatternError('has a "{" without a matching "}"')
  return tokensOf(reader)
}

/** The list that tokens are added to. */
function tokensOf({ open }: Reader): GlobToken[] {
  return open.at(-1)?.at(-1) ?? []
}

function closeBraces(reader: Reader): void {
  if (reader.open.length === 1) throw new PatternError('has a "}" without a matching "{"')
  const filled = reader.open.pop()?.filter((tokens) => tokens.some((token) => token !== nothing)) ?? []
  // If all are empty, it is a token that matches nothing.
  tokensOf(reader).push(filled.length === 0 ? nothing : { type: "choice", rows: filled })
}

function parseOne(reader: Reader, character: string): readonly GlobToken[] {
  if (character === "?") return [one]
  if (character === "*") return parseStar(reader)
  if (character === "[" && !reader.listsAreOver) return [parseList(reader)]
  if (character !== "\\") return bytesOf(character)
  const escaped = reader.characters[++reader.at]
  if (escaped === undefined) throw new PatternError("ends with a backslash")
  return bytesOf(escaped)
}

function parseStar(reader: Reader): readonly GlobToken[] {
  const { characters, open } = reader
  const before = characters[reader.at - 1]
  if (characters[reader.at + 1] !== "*") return [some]
  reader.at++
  const after = characters[reader.at + 1]
  const tokens = tokensOf(reader)
  const isInBraces = open.length > 1
  if (tokens.length === 0) {
    if (after !== undefined && after !== "/") return [some]
    if (after === "/") reader.at++
    return [folders]
  }
  if (before !== "/" && !(isInBraces && (before === "," || before === "{"))) return [some]
  const isLast = after === undefined || (isInBraces && (after === "," || after === "}"))
  if (!isLast && after !== "/") return [some]
  if (!isLast) reader.at++
  // Includes the slash before it.
  const last = tokens.pop()
  if (last === folders || last === below) return [last]
  return [isLast ? below : between]
}

/** From `[` to `]`. */
function parseList(reader: Reader): GlobToken {
  const start = reader.at
  const next = () => reader.characters[++reader.at]
  const members: { readonly from: string; to: string }[] = []
  let character = next()
  const isNegated = character === "!" || character === "^"
  if (isNegated) character = next()
  let isRange = false
  for (; character !== "]" || members.length === 0; character = next()) {
    if (character === undefined) {
      reader.at = start
      reader.listsAreOver = true
      return { type: "character", character: "[" }
    }
    const last = members.at(-1)
    if (isRange && last !== undefined) last.to = character
    else if (character !== "-" || last === undefined) members.push({ from: character, to: character })
    isRange = !isRange && last !== undefined && character === "-"
  }
  if (isRange) members.push({ from: "-", to: "-" })
  return { type: "list", isNegated, ranges: members.flatMap(({ from, to }) => byteRanges(from, to)) }
}

/** As ripgrep does: only the bytes where the two meet form a range. */
function byteRanges(from: string, to: string): readonly GlobRange[] {
  const single = (byte: number) => rangeOf(byte, byte)
  const first = Array.from(utf8.encode(from))
  if (from === to) return first.map(single)
  const [low = 0, high = 0, ...others] = [...first.splice(-1), ...utf8.encode(to)]
  return [...first.map(single), rangeOf(low, high), ...others.map(single)]
}

const utf8 = new TextEncoder()

function bytesOf(character: string): readonly GlobToken[] {
  return Array.from(bytesAsText(character), (byte) => ({ type: "character", character: byte }))
}
