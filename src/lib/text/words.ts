/**
 * The words of a text, for the index and for queries. Scripts without spaces between words are split by the dictionaries of
 * `Intl.Segmenter`, and into pairs of characters: the same word can be split differently in another sentence.
 */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const [word] of folded(text).matchAll(anyWord)) {
    if (isUnspaced(word)) words.push(...unspacedWords(word))
    else words.push(word)
  }
  return words
}

/** True for words of scripts that do not separate words by spaces. */
export function isUnspaced(word: string): boolean {
  return unspaced.test(word)
}

/** The position of the first word of a text that contains one of these terms; 0 if none does. */
export function firstMatch(text: string, terms: ReadonlySet<string>): number {
  for (const match of text.matchAll(anyWord)) {
    const word = folded(match[0])
    if (!isUnspaced(word)) {
      if (terms.has(word)) return match.index
      continue
    }
    const found = [...terms].map((term) => word.indexOf(term)).filter((at) => at >= 0)
    if (found.length > 0) return match.index + Math.min(...found)
  }
  return 0
}

function unspacedWords(run: string): readonly string[] {
  const words = new Set<string>()
  for (const { segment, isWordLike } of segmenterOf().segment(run)) if (isWordLike) words.add(segment)
  const characters = [...run]
  for (let at = 0; at + 1 < characters.length; at++) words.add(`${characters[at]}${characters[at + 1]}`)
  return [...words]
}

/** Without capitals and accents. Only accents of European scripts: in others the marks make different letters. */
function folded(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  return text
    .normalize("NFKD")
    .replace(/(\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic})[\u0300-\u036f]+/gu, "$1")
    .normalize("NFC")
    .toLowerCase()
    .replaceAll("\u00df", "ss")
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ascii = /^[\x00-\x7f]*$/
const anyWord = /[\p{L}\p{M}\p{N}]+/gu
const unspaced =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}|\p{Script=Myanmar}/u

let segmenter: Intl.Segmenter | undefined

/** Created on first use: it loads dictionaries. */
function segmenterOf(): Intl.Segmenter {
  segmenter ??= new Intl.Segmenter("und", { granularity: "word" })
  return segmenter
}
