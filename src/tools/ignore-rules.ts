import { PatternError } from "../lib/linear-pattern.ts"
import { compileGlob } from "./glob.ts"

/** What one ignore file says of the paths below its folder. The last rule that fits counts; undefined: none does. */
export type IgnoreFile = (path: string, isFolder: boolean) => boolean | undefined

/** Reads a file in the language of .gitignore. Lines that make no sense are passed over, as git does. */
export function parseIgnoreFile(text: string): IgnoreFile {
  const rules = text.split("\n").flatMap(parseRule).reverse()
  return (path, isFolder) => {
    for (const { matches, foldersOnly, ignored } of rules) {
      if ((isFolder || !foldersOnly) && matches(path)) return ignored
    }
    return undefined
  }
}

interface Rule {
  readonly matches: (path: string) => boolean
  readonly foldersOnly: boolean
  readonly ignored: boolean
}

function parseRule(line: string): Rule[] {
  // Spaces at the end count only where they are escaped.
  const trimmed = line.replace(/\r$/, "").replace(/(?<!\\) +$/, "")
  if (trimmed === "" || trimmed.startsWith("#")) return []
  const ignored = !trimmed.startsWith("!")
  const pattern = ignored ? trimmed : trimmed.slice(1)
  const foldersOnly = pattern.endsWith("/")
  const bare = pattern.replace(/\/$/, "")
  if (bare === "" || openBracket.test(bare)) return []
  try {
    return [{ matches: compileGlob(anchored(bare), { braces: false }), foldersOnly, ignored }]
  } catch (error) {
    if (error instanceof PatternError) return []
    throw error
  }
}

/** A list of characters that does not end fits nothing. */
const openBracket = /(?<!\\)\[(?![^\]]+\])/

/** A slash at the start or in the middle ties a pattern to its folder; `compileGlob` wants to see one at the start. */
function anchored(pattern: string): string {
  if (!pattern.includes("/")) return pattern
  // `a/**` is about what lies below `a`, not `a` itself.
  return `/${pattern.replace(/^\//, "").replace(/\/\*\*$/, "/**/*")}`
}
