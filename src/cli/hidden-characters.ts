/**
 * Everything that a terminal obeys or does not show: control characters but line feed and tab, line and paragraph
 * separators, and what Unicode ignores by default (direction marks, zero-width and tag characters, variation selectors).
 * Joiners and selectors that belong to an emoji are part of what is seen.
 */
export const hiddenCharacters =
  /(?![\n\t])\p{Cc}|[\u2028\u2029\ufff9-\ufffb]|(?!(?<=\p{ExtPict}|\p{ExtPict}\ufe0f|\p{EMod})(?:\ufe0f|\u200d(?=\p{ExtPict})))\p{DI}/gu

/** The same JSON, with what no reader would see written as escapes. */
export function withEscapes(json: string): string {
  return json.replace(hiddenCharacters, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
    }).join(""),
  )
}
