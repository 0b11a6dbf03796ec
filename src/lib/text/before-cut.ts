import type { ToolContext } from "../../contract/tool.ts"

/** Masks secrets: `ToolContext.redact`. */
export type Redact = (text: string) => string

export function redactOf({ redact }: ToolContext): Redact {
  return redact ?? ((text) => text)
}

/**
 * A text to be shortened to its first characters, masked if it is longer: a secret at the place of the cut would no longer be
 * recognised in the result. What is far behind the cut may be missing.
 */
export function beforeCut(text: string, maxCharacters: number, redact: Redact): string {
  if (text.length <= maxCharacters) return text
  const most = maxCharacters + MAX_SECRET_LENGTH
  return redact(text.length > most ? withoutHalfWord(text.slice(0, most)) : text)
}

/** For a text that was cut already: half a word at its end could be half a secret that is recognised by its format only. */
export function withoutHalfWord(text: string): string {
  let end = text.length
  while (end > 0 && text.length - end < MAX_SECRET_LENGTH && /\S/.test(text.charAt(end - 1))) end--
  return end === 0 ? text : text.slice(0, end)
}

/** The last characters of a text that is masked later, without half a word: half a secret would not be recognised. */
export function lastWords(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  const end = text.slice(-maxCharacters)
  const space = end.search(/\s/)
  return space === -1 ? "" : end.slice(space).trimStart()
}

/** The first characters, in the same way. */
export function firstWords(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  return /^.*\s/s.exec(text.slice(0, maxCharacters))?.[0].trimEnd() ?? ""
}

export const MAX_SECRET_LENGTH = 16_384
