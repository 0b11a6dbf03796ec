import type { Json } from "../../contract/json.ts"

/**
 * JSON that may hold comments and commas before a closing bracket. Throws a SyntaxError that names the line and quotes
 * no value: somebody may have put a secret there.
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
    if (depth > deepest) throw wrong(here().line, `brackets are nested more than ${deepest} deep`)
    if (isNext("{")) return Object.fromEntries(readItems("}", () => readEntry(depth)))
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

  function readEntry(depth: number): [string, Json] {
    if (!here().text.startsWith('"')) throw wrong(here().line, "a key in double quotes is missing")
    const key = String(readScalar())
    expect(":", `the colon behind ${JSON.stringify(key)}`)
    return [key, readValue(depth + 1)]
  }

  function readScalar(): Json {
    const { text, line } = here()
    position++
    try {
      return JSON.parse(text)
    } catch {
      throw wrong(line, text === "" ? "it ends too early" : "this is no value of JSON")
    }
  }

  const value = readValue(0)
  if (!isNext("")) throw wrong(here().line, "there is more behind the end")
  return value
}

interface Token {
  readonly text: string
  readonly line: number
}

/** Deeper than any setting; what is deeper still could exhaust the stack. */
const deepest = 32

// In this order: blanks, a comment to the end of its line, a comment over lines, then what counts: a string, a bracket or
// sign, a number or word.
const tokenPattern = /\s+|\/\/.*|\/\*[\s\S]*?\*\/|("(?:[^"\\\n]|\\.)*"|[{}[\],:]|[\w.+-]+)/y

/** The tokens that count, and an empty one at the end. */
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
  if (start.startsWith('"')) return "a string does not end on its line"
  return start === "/*" ? "a comment does not end" : "this is not JSON"
}

function wrong(line: number, what: string): SyntaxError {
  return new SyntaxError(`line ${line}: ${what}`)
}
