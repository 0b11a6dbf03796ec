import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const repository = new URL("../..", import.meta.url)

/** The titles of the tests and groups of a file; none if it does not exist. */
export function titlesIn(file: string): string[] {
  const path = fileURLToPath(new URL(file, repository))
  return existsSync(path) ? titlesOf(readFileSync(path, "utf8")) : []
}

/** The tags of the tests and groups of a file. */
export function tagsIn(file: string): string[] {
  const source = readFileSync(fileURLToPath(new URL(file, repository)), "utf8")
  const lists = source.matchAll(/(?<!^\s*\/\/.*)\btags: \[([^\]]*)\]/gm)
  return Array.from(lists, ([, list = ""]) => Array.from(list.matchAll(/"([^"]*)"/g), ([, tag = ""]) => tag)).flat()
}

/** The titles of tests and groups that really run, as in the source. */
export function titlesOf(source: string): string[] {
  const titles: string[] = []
  for (const match of source.matchAll(
    /^[ \t]*(?:else )?(?:test|it|describe)(?:\.concurrent)?(\.(?:each|runIf))?(?=[(<])/gm,
  )) {
    let at = match.index + match[0].length
    if (match[1] !== undefined) at = afterBrackets(source, at)
    if (source.startsWith(".each", at)) at = afterBrackets(source, at + ".each".length)
    const title = /^\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/.exec(source.slice(at))?.[2]
    if (title !== undefined) titles.push(title.replaceAll(/\\(.)/g, "$1"))
  }
  return titles
}

/** After the type arguments and the table of `test.each`, whatever texts they contain. */
function afterBrackets(source: string, from: number): number {
  let depth = 0
  let quote = ""
  for (let at = source.indexOf("(", afterTypeArguments(source, from)); at < source.length; at++) {
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

/** The brackets of types hold no texts with brackets, but functions. */
function afterTypeArguments(source: string, from: number): number {
  if (source.charAt(from) !== "<") return from
  let depth = 0
  for (let at = from; at < source.length; at++) {
    const character = source.charAt(at)
    if (character === "<") depth++
    else if (character === ">" && source.charAt(at - 1) !== "=" && --depth === 0) return at + 1
  }
  return source.length
}

const placeholder = /%(?:\.\d+)?[sdifjoO#]|\$\{[^}]*\}|\$\w+(?:\.\w+)*/

/**
 * How many characters of `part` are the title's own, if `part` can be a part of the title, whose placeholders stand for any
 * text; otherwise -1.
 */
export function ownCharacters(title: string, part: string): number {
  const pattern = title.split(placeholder).flatMap((text, index) => [...(index > 0 ? [undefined] : []), ...text])
  // The count that is reached at each place of the pattern; a part may begin anywhere.
  let reached = pattern.map((): number | undefined => 0)
  for (const character of part) {
    const next: (number | undefined)[] = []
    for (const [index, count] of passed(reached, pattern).entries()) {
      if (count === undefined) continue
      if (pattern[index] === undefined && index < pattern.length) next[index] = Math.max(next[index] ?? 0, count)
      else if (pattern[index] === character) next[index + 1] = Math.max(next[index + 1] ?? 0, count + 1)
    }
    reached = Array.from(next)
  }
  return Math.max(-1, ...reached.map((count) => count ?? -1))
}

/** A placeholder may stand for nothing. */
function passed(
  reached: readonly (number | undefined)[],
  pattern: readonly (string | undefined)[],
): readonly (number | undefined)[] {
  const all = [...reached]
  for (let index = 0; index < pattern.length; index++) {
    const count = all[index]
    if (count !== undefined && pattern[index] === undefined) all[index + 1] = Math.max(all[index + 1] ?? 0, count)
  }
  return all
}
