import type { Json } from "../contract/json.ts"

/** The JSON in a text: the text itself, else what a code fence or the outermost brackets hold. */
export function findJson(text: string): { readonly value: Json; readonly whole: boolean } | undefined {
  const whole = parse(text)
  if (whole !== undefined) return { ...whole, whole: true }
  for (const candidate of candidates(text)) {
    const found = parse(candidate)
    // A number or a word in a sentence is no answer: only what has a structure of its own is looked for.
    if (found !== undefined && typeof found.value === "object" && found.value !== null)
      return { ...found, whole: false }
  }
  return undefined
}

function* candidates(text: string): Generator<string> {
  for (const [, inside = ""] of text.matchAll(/```[a-z]*\s*\n([\s\S]*?)\n\s*```/gi)) yield inside
  // Only the first bracket: what stands inside an answer that was cut is not the answer.
  const start = text.search(/[{[]/)
  if (start === -1) return
  const end = text.lastIndexOf(text[start] === "{" ? "}" : "]")
  if (end > start) yield text.slice(start, end + 1)
}

function parse(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return undefined
  }
}
