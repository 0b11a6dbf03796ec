import { compileLinearPattern, PatternError } from "../lib/linear-pattern.ts"

/**
 * A glob of an ignore file, about whole paths. As in ripgrep: `?` and a list are about one byte of a name, a list may
 * stand for a slash, and `**` means folders only where it stands alone between slashes. Throws PatternError.
 */
export function compileIgnoreGlob(glob: string): (path: string) => boolean {
  const tokens = parse(glob)
  const pattern = compileLinearPattern(tokens.length === 1 && tokens[0] === leading ? "" : `^${tokens.join("")}$`)
  return (path) => pattern.test(bytesAsText(path))
}

const oneByte = "[^/]"
const someBytes = "[^/]*"
/** A `**` at the start, at the end and between two slashes, with the slashes. */
const leading = "(?:/?|[^]*/)"
const trailing = "/[^]*"
const between = "(?:/|/[^]*/)"

interface Reader {
  readonly characters: readonly string[]
  at: number
  /** Set by a `[` without its `]`: this one and all that follow are letters. */
  listsAreOver: boolean
  /** The alternatives that are open, outermost first; each a row of tokens. */
  readonly open: string[][][]
}

function parse(glob: string): readonly string[] {
  const reader: Reader = { characters: [...glob], at: 0, listsAreOver: false, open: [[[]]] }
  for (; reader.at < reader.characters.length; reader.at++) {
    const character = reader.characters[reader.at] ?? ""
    if (character === "{") reader.open.push([[]])
    else if (character === "}") closeBraces(reader)
    else if (character === "," && reader.open.length > 1) reader.open.at(-1)?.push([])
    else tokensOf(reader).push(...parseOne(reader, character))
  }
  if (reader.open.length > 1) throw new PatternError('has a "{" without its "}"')
  return tokensOf(reader)
}

/** The row that tokens are added to. */
function tokensOf({ open }: Reader): string[] {
  return open.at(-1)?.at(-1) ?? []
}

function closeBraces(reader: Reader): void {
  if (reader.open.length === 1) throw new PatternError('has a "}" without its "{"')
  const choices = reader.open.pop()?.map((tokens) => tokens.join("")) ?? []
  const filled = choices.filter((choice) => choice !== "")
  // Of empty ones alone it is a token that stands for nothing.
  tokensOf(reader).push(filled.length === 0 ? "" : `(?:${filled.join("|")})`)
}

function parseOne(reader: Reader, character: string): readonly string[] {
  if (character === "?") return [oneByte]
  if (character === "*") return parseStar(reader)
  if (character === "[" && !reader.listsAreOver) return [parseList(reader)]
  if (character !== "\\") return [literal(character)]
  const escaped = reader.characters[++reader.at]
  if (escaped === undefined) throw new PatternError("ends with a backslash")
  return [literal(escaped)]
}

function parseStar(reader: Reader): readonly string[] {
  const { characters, open } = reader
  const before = characters[reader.at - 1]
  if (characters[reader.at + 1] !== "*") return [someBytes]
  reader.at++
  const after = characters[reader.at + 1]
  const tokens = tokensOf(reader)
  const isInBraces = open.length > 1
  if (tokens.length === 0) {
    if (after !== undefined && after !== "/") return [someBytes]
    if (after === "/") reader.at++
    return [leading]
  }
  if (before !== "/" && !(isInBraces && (before === "," || before === "{"))) return [someBytes]
  const isLast = after === undefined || (isInBraces && (after === "," || after === "}"))
  if (!isLast && after !== "/") return [someBytes]
  if (!isLast) reader.at++
  // Takes the slash before it along.
  const last = tokens.pop()
  if (last === leading || last === trailing) return [last]
  return [isLast ? trailing : between]
}

/** From `[` to `]`. */
function parseList(reader: Reader): string {
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
      return literal("[")
    }
    const last = members.at(-1)
    if (isRange && last !== undefined) last.to = character
    else if (character !== "-" || last === undefined) members.push({ from: character, to: character })
    isRange = !isRange && last !== undefined && character === "-"
  }
  if (isRange) members.push({ from: "-", to: "-" })
  return `[${isNegated ? "^" : ""}${members.map(({ from, to }) => range(from, to)).join("")}]`
}

function range(from: string, to: string): string {
  return from === to ? literal(from) : `${literal(from)}-${literal(to)}`
}

const utf8 = new TextEncoder()

function literal(character: string): string {
  return Array.from(utf8.encode(character), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")
}

/** A character for each byte. */
function bytesAsText(text: string): string {
  return /^\p{ASCII}*$/u.test(text) ? text : String.fromCharCode(...utf8.encode(text))
}
