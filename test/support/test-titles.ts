import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const repository = new URL("../..", import.meta.url)

/** The titles of the tests and groups of a file; none if it does not exist. */
export function titlesIn(file: string): string[] {
  const path = fileURLToPath(new URL(file, repository))
  return existsSync(path) ? titlesOf(readFileSync(path, "utf8")) : []
}

/** The titles of tests and groups that really run, as in the source. */
export function titlesOf(source: string): string[] {
  const titles: string[] = []
  for (const match of source.matchAll(/^[ \t]*(?:else )?(?:test|it|describe)(\.each)?(?=[(<])/gm)) {
    let at = match.index + match[0].length
    if (match[1] !== undefined) at = afterBrackets(source, at)
    const title = /^\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/.exec(source.slice(at))?.[2]
    if (title !== undefined) titles.push(title.replaceAll(/\\(.)/g, "$1"))
  }
  return titles
}

/** After the type arguments and the table of `test.each`, whatever texts they contain. */
function afterBrackets(source: string, from: number): number {
  let depth = 0
  let quote = ""
  for (let at = source.indexOf("(", from); at < source.length; at++) {
    const character = source.charAt(at)
    if (quote !== "") {
      if (character === "\\") at++
      else if (character === quote) quote = ""
    } else if (/["'`]/.test(character)) quote = character
    else if (character === "(") depth++
    else if (character === ")" && --depth === 0) return at + 1
  }
  return source.length
}
