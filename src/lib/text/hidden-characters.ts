/**
 * Everything that a terminal interprets or does not show: control characters except line feed and tab, line and
 * paragraph separators, and characters that Unicode ignores by default (direction marks, zero-width and tag characters,
 * variation selectors). Joiners and selectors within an emoji are visible.
 */
export const hiddenCharacters =
  /(?![\n\t])\p{Cc}|[\u2028\u2029\ufff9-\ufffb]|(?!(?<=\p{ExtPict}|\p{ExtPict}\ufe0f|\p{EMod})(?:\ufe0f|\u200d(?=\p{ExtPict})))\p{DI}/gu

/** The same JSON, with invisible characters written as escapes. */
export function withEscapes(json: string): string {
  return json.replace(hiddenCharacters, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
    }).join(""),
  )
}
