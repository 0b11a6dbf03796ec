import { compileLinearPattern, PatternError } from "../lib/linear-pattern.ts"

/**
 * `*`, `?`, `**`, `[abc]`, `[!abc]` and `{a,b}`. A glob without a slash is about names, one with a slash about paths
 * from the folder that is searched. Throws PatternError.
 */
export function compileGlob(glob: string): (path: string) => boolean {
  const anywhere = !glob.includes("/")
  const plain = translate(glob.replace(/^\.?\//, ""))
  const pattern = compileLinearPattern(`^${anywhere ? "(?:[^]*/)?" : ""}${plain}$`)
  return (path) => pattern.test(path)
}

function translate(glob: string): string {
  let depth = 0
  const translated = glob.replace(tokens, (token, list: string | undefined) => {
    switch (token) {
      case "**/":
        return "(?:[^]*/)?"
      case "**":
        return "[^]*"
      case "*":
        return "[^/]*"
      case "?":
        return "[^/]"
      case "{":
        depth++
        return "(?:"
      case "}":
        if (depth === 0) return "\\}"
        depth--
        return ")"
      case ",":
        return depth > 0 ? "|" : ","
    }
    if (list !== undefined) return `[${list.replace(/^!/, "^").replaceAll("[", "\\[")}]`
    return token.startsWith("\\") ? token : `\\${token}`
  })
  if (depth > 0) throw new PatternError('has a "{" without its "}"')
  return translated
}

/** What globs give a meaning, then what only patterns do. */
const tokens = /\*\*\/|\*\*|[*?{},]|\[([^\]/]+)\]|\\[^a-zA-Z0-9]|[.+^$()|[\]\\]/g
