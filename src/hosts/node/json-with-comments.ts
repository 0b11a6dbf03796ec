import type { Json } from "../../contract/json.ts"

/**
 * Parses JSON with comments and trailing commas. Throws a SyntaxError that names the line and quotes no value, which
 * could be a secret.
 */
export function parseJsonWithComments(text: string): Json {
  const tokens = tokensOf(text)
  let position = 0
  // Safe: the last token is the end of the text, and nothing reads on behind it.
  const here = () => tokens[position] as Token
  const isNext = (...texts: readonly string[]) => texts.includes(here().text)

  function expect(text: string, what: string): void {
    if (!isNext(text)) throw wrong(here().line, `${what} is missing`)
    position++
  }

  function readValue(depth: number): Json {
    if (depth > deepest) throw wrong(here().line, `brackets are nested more than ${deepest} levels deep`)
    if (isNext("{")) {
      const names = new Set<string>()
      return Object.fromEntries(readItems("}", () => readEntry(depth, names)))
    }
    if (isNext("[")) return readItems("]", () => readValue(depth + 1))
    return readScalar()
  }

  function readItems<Item>(end: "}" | "]", readItem: () => Item): Item[] {
    position++
    const items: Item[] = []
    while (!isNext(end)) {
      items.push(readItem())
      if (!isNext(end)) expect(",", `a comma or ${end}`)
    }
    position++
    return items
  }

  function readEntry(depth: number, names: Set<string>): [string, Json] {
    const { text, line } = here()
    if (!text.startsWith('"')) throw wrong(line, "a key in double quotes is missing")
    const key = String(readScalar())
    // Only the last one would count.
    if (names.has(key)) throw wrong(line, `the key ${JSON.stringify(key)} is given twice`)
    names.add(key)
    expect(":", `the colon after ${JSON.stringify(key)}`)
    return [key, readValue(depth + 1)]
  }

  function readScalar(): Json {
    const { text, line } = here()
    position++
    try {
      return JSON.parse(text)
    } catch {
      throw wrong(line, text === "" ? "the file ends too early" : "invalid JSON value")
    }
  }

  const value = readValue(0)
  if (!isNext("")) throw wrong(here().line, "unexpected content after the end")
  return value
}

interface Token {
  readonly text: string
  readonly line: number
}

/** Deeper than any setting; deeper nesting could exhaust the stack. */
const deepest = 32

// In this order: whitespace, line comment, block comment, then the tokens: string, punctuation, number or word.
const tokenPattern = /\s+|\/\/.*|\/\*[\s\S]*?\*\/|("(?:[^"\\\n]|\\.)*"|[{}[\],:]|[\w.+-]+)/y

/** The tokens without whitespace and comments, ended by an empty one. */
function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  let line = 1
  for (let at = 0; at < text.length; ) {
    tokenPattern.lastIndex = at
    const match = tokenPattern.exec(text)
    if (match === null) throw wrong(line, unreadable(text.slice(at, at + 2)))
    if (match[1] !== undefined) tokens.push({ text: match[1], line })
    line += match[0].split("\n").length - 1
    at = tokenPattern.lastIndex
  }
  tokens.push({ text: "", line })
  return tokens
}

function unreadable(start: string): string {
  if (start.startsWith('"')) return "unterminated string"
  return start === "/*" ? "unterminated comment" : "invalid JSON"
}

function wrong(line: number, what: string): SyntaxError {
  return new SyntaxError(`line ${line}: ${what}`)
}
