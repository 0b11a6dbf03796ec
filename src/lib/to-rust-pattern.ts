import { type CharacterSet, contains } from "./character-set.ts"
import type { LinearPatternOptions } from "./linear-pattern.ts"
import { type Assertion, type PatternNode, parsePattern } from "./parse-pattern.ts"

/**
 * A pattern for Rust's regular expressions on bytes that fits wherever ours fits the decoded text, and at times where ours
 * does not: to find the files worth reading. Throws PatternError.
 */
export function toRustPattern(source: string, { ignoreCase = false, multiline = false }: LinearPatternOptions): string {
  return write(parsePattern(source, ignoreCase), multiline)
}

function write(node: PatternNode, multiline: boolean): string {
  switch (node.type) {
    case "set":
      return writeSet(node.set, multiline)
    case "assert":
      return assertions[node.kind]
    case "sequence":
      return node.nodes.map((each) => write(each, multiline)).join("")
    case "choice":
      return `(?:${node.nodes.map((each) => write(each, multiline)).join("|")})`
    case "repeat":
      return `(?:${write(node.node, multiline)})${quantifier(node)}`
  }
}

/** `R`: also before the carriage return of a line's end, which we take off. Words are ASCII to JavaScript. */
const assertions: Readonly<Record<Assertion, string>> = {
  start: "(?m:^)",
  end: "(?Rm:$)",
  boundary: "(?-u:\\b)",
  "no-boundary": "(?-u:\\B)",
}

function quantifier({ min, max }: { readonly min: number; readonly max: number }): string {
  return max === Infinity ? `{${min},}` : `{${min},${max}}`
}

function writeSet(set: CharacterSet, multiline: boolean): string {
  const members = multiline ? set : without(set, 0x0a, 0x0a)
  // What is not UTF-8 is read as U+FFFD: one for up to three bytes. Sets that hold it hold nearly all that is not ASCII.
  const choices = contains(members, 0xfffd)
    ? [`(?-u:[${ranges(without(members, 0x80, 0x10ffff))}\\x80-\\xff])`, "(?-u:[\\x80-\\xff]{2,4})"]
    : [characterClass(without(members, 0xd800, 0xdfff))]
  // We search with the line ends made alike.
  if (multiline && contains(members, 0x0a)) choices.push("\\r\\n")
  return choices.length === 1 ? choices.join("") : `(?:${choices.join("|")})`
}

function characterClass(set: CharacterSet): string {
  return set.length === 0 ? "[^\\x{0}-\\x{10ffff}]" : `[${ranges(set)}]`
}

function ranges(set: CharacterSet): string {
  return set.map(([from, to]) => (from === to ? point(from) : `${point(from)}-${point(to)}`)).join("")
}

function point(code: number): string {
  return `\\x{${code.toString(16)}}`
}

function without(set: CharacterSet, low: number, high: number): CharacterSet {
  return set.flatMap(([from, to]) => {
    const rest: [number, number][] = []
    if (from < low) rest.push([from, Math.min(to, low - 1)])
    if (to > high) rest.push([Math.max(from, high + 1), to])
    return rest
  })
}
