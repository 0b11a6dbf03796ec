import type { Json } from "../../contract/json.ts"

/** Finds the JSON in a text, in linear time: the whole text, else a code fence, else the outermost brackets. */
export function findJson(text: string): { readonly value: Json; readonly whole: boolean } | undefined {
  const whole = parse(text)
  if (whole !== undefined) return { ...whole, whole: true }
  for (const candidate of candidates(text)) {
    const found = parse(candidate)
    // A number or a word in a sentence is not an answer, so only objects and arrays are accepted.
    if (found !== undefined && typeof found.value === "object" && found.value !== null)
      return { ...found, whole: false }
  }
  return undefined
}

function* candidates(text: string): Generator<string> {
  yield* fenced(text)
  // Only the first bracket counts: a value nested in a truncated answer is not the answer.
  const start = text.search(/[{[]/)
  if (start === -1) return
  const end = text.lastIndexOf(text[start] === "{" ? "}" : "]")
  if (end > start) yield text.slice(start, end + 1)
}

/** Yields the content of code fences. The opening fence may follow other text and name a language. */
function* fenced(text: string): Generator<string> {
  let begin = -1
  let lineStart = 0
  while (lineStart <= text.length) {
    const newline = text.indexOf("\n", lineStart)
    const lineEnd = newline === -1 ? text.length : newline
    const line = text.slice(lineStart, lineEnd)
    const at = line.indexOf(FENCE)
    if (begin === -1 && at !== -1 && isLanguage(line.slice(at + FENCE.length))) begin = lineEnd + 1
    else if (begin !== -1 && at !== -1 && line.slice(0, at).trim() === "") {
      yield text.slice(begin, lineStart)
      begin = -1
    }
    lineStart = lineEnd + 1
  }
}

function isLanguage(text: string): boolean {
  return /^[a-z0-9]*$/i.test(text.trim())
}

const FENCE = "```"

function parse(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json } // Safe: that is what it parses.
  } catch {
    return undefined
  }
}
