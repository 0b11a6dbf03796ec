/** The position of a value in a text. */
export interface JsonSpan {
  readonly start: number
  readonly end: number
}

/**
 * The values of an object's members by name, in a text that is known to be JSON. For a repeated name the last one, as
 * in `JSON.parse`. `at`: start of the object, or white space before it.
 */
export function memberSpans(text: string, at: number): ReadonlyMap<string, JsonSpan> {
  const members = new Map<string, JsonSpan>()
  let from = skipSpace(text, skipSpace(text, at) + 1)
  while (text[from] === '"') {
    const nameEnd = endOfString(text, from)
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = endOfValue(text, start)
    // Safe: it is a string of valid JSON.
    members.set(JSON.parse(text.slice(from, nameEnd)) as string, { start, end })
    from = skipSpace(text, skipSpace(text, end) + 1)
  }
  return members
}

/** The same for the elements of an array. */
export function elementSpans(text: string, at: number): readonly JsonSpan[] {
  const elements: JsonSpan[] = []
  let start = skipSpace(text, skipSpace(text, at) + 1)
  while (start < text.length && text[start] !== "]") {
    const end = endOfValue(text, start)
    elements.push({ start, end })
    const next = skipSpace(text, end)
    if (text[next] !== ",") break
    start = skipSpace(text, next + 1)
  }
  return elements
}

function skipSpace(text: string, at: number): number {
  let next = at
  while (next < text.length && " \t\n\r".includes(text[next] ?? "")) next++
  return next
}

function endOfString(text: string, at: number): number {
  let next = at + 1
  while (next < text.length && text[next] !== '"') next += text[next] === "\\" ? 2 : 1
  return next + 1
}

/** Without recursion: a file may be nested arbitrarily deep. */
function endOfValue(text: string, at: number): number {
  let depth = 0
  let next = at
  while (next < text.length) {
    const character = text[next]
    if (character === '"') {
      next = endOfString(text, next)
      if (depth === 0) return next
    } else if (character === "{" || character === "[") {
      depth++
      next++
    } else if (character === "}" || character === "]") {
      // The end of the structure around a number or a word.
      if (depth === 0) return next
      next++
      if (--depth === 0) return next
    } else if (depth === 0 && (character === "," || " \t\n\r".includes(character ?? ""))) {
      return next
    } else {
      next++
    }
  }
  return next
}
