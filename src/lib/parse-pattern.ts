import {
  type CharacterSet,
  digits,
  foldCase,
  invert,
  lineBreaks,
  spaces,
  union,
  wordCharacters,
} from "./character-set.ts"

/** What a linear pattern is made of. Groups, captures and laziness leave no trace: they do not change what matches. */
export type PatternNode =
  | { readonly type: "set"; readonly set: CharacterSet }
  | { readonly type: "sequence" | "choice"; readonly nodes: readonly PatternNode[] }
  | { readonly type: "repeat"; readonly node: PatternNode; readonly min: number; readonly max: number }
  | { readonly type: "assert"; readonly kind: Assertion }

export type Assertion = "start" | "end" | "boundary" | "no-boundary"

/** Its message is written for whoever wrote the pattern. */
export class PatternError extends Error {
  override readonly name = "PatternError"
}

/**
 * Reads JavaScript's regular expressions without what cannot be matched in linear time (backreferences, lookaround) and
 * without what means something else elsewhere (inline flags, POSIX classes, `\p`). By code points, as with the flag `u`.
 */
export function parsePattern(source: string, ignoreCase: boolean): PatternNode {
  if (source.length > maxSourceLength) throw new PatternError(`is longer than ${maxSourceLength} characters`)
  const reader: Reader = { characters: [...source], at: 0, depth: 0, ignoreCase }
  const node = parseChoice(reader)
  if (reader.at < reader.characters.length) throw new PatternError('has a ")" without its "("')
  return node
}

interface Reader {
  readonly characters: readonly string[]
  at: number
  depth: number
  readonly ignoreCase: boolean
}

const maxSourceLength = 1000
const maxDepth = 50
const maxRepeat = 1000

function parseChoice(reader: Reader): PatternNode {
  const nodes = [parseSequence(reader)]
  while (accept(reader, "|")) nodes.push(parseSequence(reader))
  return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { type: "choice", nodes }
}

function parseSequence(reader: Reader): PatternNode {
  const nodes: PatternNode[] = []
  for (let next = peek(reader); next !== undefined && next !== "|" && next !== ")"; next = peek(reader)) {
    nodes.push(parseRepeat(reader, parseAtom(reader)))
  }
  return { type: "sequence", nodes }
}

function parseRepeat(reader: Reader, node: PatternNode): PatternNode {
  const bounds = parseQuantifier(reader)
  if (bounds === undefined) return node
  if (node.type === "assert") throw new PatternError("repeats something that has no width")
  accept(reader, "?")
  if (parseQuantifier(reader) !== undefined) throw new PatternError("has a quantifier right after another")
  return { type: "repeat", node, ...bounds }
}

function parseQuantifier(reader: Reader): { readonly min: number; readonly max: number } | undefined {
  if (accept(reader, "*")) return { min: 0, max: Infinity }
  if (accept(reader, "+")) return { min: 1, max: Infinity }
  if (accept(reader, "?")) return { min: 0, max: 1 }
  const braces = /^\{(\d+)(,?)(\d*)\}/.exec(reader.characters.slice(reader.at, reader.at + 20).join(""))
  if (braces === null) return undefined
  const [whole, low, comma, high] = braces
  const min = Number(low)
  const max = high !== "" ? Number(high) : comma === "" ? min : Infinity
  if (min > max) throw new PatternError(`has its bounds in the wrong order in ${whole}`)
  if (min > maxRepeat || (max !== Infinity && max > maxRepeat)) {
    throw new PatternError(`repeats more than ${maxRepeat} times in ${whole}`)
  }
  reader.at += whole.length
  return { min, max }
}

function parseAtom(reader: Reader): PatternNode {
  const character = take(reader)
  switch (character) {
    case "(":
      return parseGroup(reader)
    case "[":
      return toSet(parseClass(reader))
    case ".":
      return toSet(invert(lineBreaks))
    case "^":
      return { type: "assert", kind: "start" }
    case "$":
      return { type: "assert", kind: "end" }
    case "*":
    case "+":
    case "?":
      throw new PatternError(`has nothing to repeat before "${character}"`)
    case "\\":
      return parseEscape(reader)
    default:
      return toSet(fold(reader, single(character)))
  }
}

function parseGroup(reader: Reader): PatternNode {
  if (accept(reader, "?")) {
    const kind = take(reader)
    if (kind === "=" || kind === "!") throw new PatternError("uses lookahead, which is not supported")
    if (kind === "<") {
      if (peek(reader) === "=" || peek(reader) === "!") {
        throw new PatternError("uses lookbehind, which is not supported")
      }
      while (take(reader) !== ">");
    } else if (kind !== ":") throw new PatternError(`uses the group (?${kind}, which is not supported`)
  }
  if (++reader.depth > maxDepth) throw new PatternError(`nests more than ${maxDepth} groups`)
  const node = parseChoice(reader)
  if (!accept(reader, ")")) throw new PatternError('has a "(" without its ")"')
  reader.depth--
  return node
}

function parseEscape(reader: Reader): PatternNode {
  const next = peek(reader)
  if (next === "b" || next === "B") {
    reader.at++
    return { type: "assert", kind: next === "b" ? "boundary" : "no-boundary" }
  }
  if (next !== undefined && /[1-9k]/.test(next)) {
    throw new PatternError("uses a backreference, which is not supported")
  }
  return toSet(fold(reader, parseEscapedSet(reader)))
}

/** After the backslash. */
function parseEscapedSet(reader: Reader): CharacterSet {
  const character = take(reader)
  const named = namedSets.get(character)
  if (named !== undefined) return named
  if (character === "x") return point(parseHex(reader, 2))
  if (character === "u") {
    if (!accept(reader, "{")) return point(parseHex(reader, 4))
    let code = ""
    for (let digit = take(reader); digit !== "}"; digit = take(reader)) code += digit
    return point(toCodePoint(code))
  }
  if (/[a-zA-Z0-9]/.test(character)) throw new PatternError(`has the unknown escape \\${character}`)
  return single(character)
}

function parseHex(reader: Reader, length: number): number {
  let code = ""
  while (code.length < length) code += take(reader)
  return toCodePoint(code)
}

function toCodePoint(hex: string): number {
  const code = /^[0-9a-fA-F]{1,6}$/.test(hex) ? Number.parseInt(hex, 16) : Infinity
  if (code > 0x10ffff) throw new PatternError(`has a bad character code "${hex}"`)
  return code
}

function parseClass(reader: Reader): CharacterSet {
  const inverted = accept(reader, "^")
  let set: CharacterSet = []
  while (!accept(reader, "]")) {
    if (peek(reader) === "[" && /[:.=]/.test(reader.characters[reader.at + 1] ?? "")) {
      throw new PatternError("uses a POSIX class, which is not supported; write \\s, \\d, \\w or the characters")
    }
    const low = parseClassMember(reader)
    const isRange = peek(reader) === "-" && (reader.characters[reader.at + 1] ?? "]") !== "]"
    if (!isRange) {
      set = union(set, low)
      continue
    }
    reader.at++
    const high = parseClassMember(reader)
    const from = onlyPoint(low)
    const to = onlyPoint(high)
    if (from > to) throw new PatternError("has a range in the wrong order")
    set = union(set, [[from, to]])
  }
  const folded = fold(reader, set)
  return inverted ? invert(folded) : folded
}

function parseClassMember(reader: Reader): CharacterSet {
  const character = take(reader)
  if (character !== "\\") return single(character)
  if (accept(reader, "b")) return point(8)
  return parseEscapedSet(reader)
}

function onlyPoint(set: CharacterSet): number {
  const range = set[0]
  if (set.length !== 1 || range === undefined || range[0] !== range[1]) {
    throw new PatternError("has a range that does not run between two characters")
  }
  return range[0]
}

const namedSets: ReadonlyMap<string, CharacterSet> = new Map([
  ["d", digits],
  ["D", invert(digits)],
  ["w", wordCharacters],
  ["W", invert(wordCharacters)],
  ["s", spaces],
  ["S", invert(spaces)],
  ["t", point(9)],
  ["n", point(10)],
  ["v", point(11)],
  ["f", point(12)],
  ["r", point(13)],
  ["0", point(0)],
])

function toSet(set: CharacterSet): PatternNode {
  return { type: "set", set }
}

function single(character: string): CharacterSet {
  return point(character.codePointAt(0) ?? 0)
}

function point(code: number): CharacterSet {
  return [[code, code]]
}

function fold(reader: Reader, set: CharacterSet): CharacterSet {
  return reader.ignoreCase ? foldCase(set) : set
}

function peek(reader: Reader): string | undefined {
  return reader.characters[reader.at]
}

function accept(reader: Reader, character: string): boolean {
  if (peek(reader) !== character) return false
  reader.at++
  return true
}

function take(reader: Reader): string {
  const character = peek(reader)
  if (character === undefined) throw new PatternError("ends too early")
  reader.at++
  return character
}
