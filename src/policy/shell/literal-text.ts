import { reject } from "./unreadable.ts"

/**
 * Removes the quotes and escapes of a word in which nothing is substituted. Returns undefined if the shell may still
 * replace it by other text: globs, braces and tildes. A second reading in addition to the parser's: both must agree.
 */
export function literalText(source: string): string | undefined {
  let text = ""
  let isFixed = true
  let hasBrace = false
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at)
    if (char === "\\") {
      at++
      if (at === source.length) reject("it ends in a backslash")
      if (source.charAt(at) !== "\n") text += source.charAt(at)
    } else if (char === "'") {
      const end = source.indexOf("'", at + 1)
      if (end === -1) reject("a quote is not closed")
      text += source.slice(at + 1, end)
      at = end
    } else if (char === '"') {
      const end = endOfQuoted(source, at + 1)
      const quoted = source.slice(at + 1, end)
      checkQuotedText(quoted, true)
      text += quoted.replace(/\\(?:\n|([$`"\\]))/g, "$1")
      at = end
    } else {
      if ("()<>&|;$` \t\n".includes(char)) reject(`it contains an unquoted ${JSON.stringify(char)} inside a word`)
      if ("*?".includes(char) || (char === "[" && source !== "[")) isFixed = false
      if (char === "~" && (at === 0 || "=:".includes(source.charAt(at - 1)))) isFixed = false
      hasBrace ||= char === "{"
      text += char
    }
  }
  if (hasBrace && /,|\.\./.test(text)) isFixed = false
  return isFixed ? text : undefined
}

/**
 * Checks the text between expansions in double quotes and here-documents. The parser should have found every expansion
 * there; a dollar sign is text only where no shell expands it: at the end and before some signs.
 */
export function checkQuotedText(text: string, isLast: boolean): void {
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === "\\") at++
    else if (char === "`") reject("it contains a backquote that is not part of a substitution")
    else if (char === "$") {
      const isText = at + 1 === text.length ? isLast : " \n|)/.,".includes(text.charAt(at + 1))
      if (!isText) reject("it contains a dollar sign that is not part of an expansion")
    }
  }
}

function endOfQuoted(source: string, from: number): number {
  for (let at = from; at < source.length; at++) {
    if (source.charAt(at) === "\\") at++
    else if (source.charAt(at) === '"') return at
  }
  return reject("a quote is not closed")
}
