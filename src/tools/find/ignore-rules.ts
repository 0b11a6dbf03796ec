import { PatternError } from "../../lib/linear-pattern.ts"
import { bytesAsText, compileIgnoreGlob } from "./ignore-glob.ts"

/** What one ignore file says of the paths below its folder. */
export interface IgnoreFile {
  /** The last rule that fits counts; undefined: none does. */
  readonly says: (path: string, isFolder: boolean) => boolean | undefined
  /** Whether a rule brings back what another one left out. */
  readonly hasExceptions: boolean
}

/**
 * Reads a file in the language of .gitignore as ripgrep does, since both must leave out the same files: unlike git it
 * knows `{a,b}`. Lines that make no sense are passed over.
 */
export function parseIgnoreFile(text: string): IgnoreFile {
  const lines = text.split("\n")
  // What is not UTF-8 ends the file.
  const broken = lines.findIndex((line) => line.includes("\ufffd"))
  const rules = (broken === -1 ? lines : lines.slice(0, broken)).flatMap(parseRule).reverse()
  return {
    hasExceptions: rules.some(({ ignored }) => !ignored),
    says(path, isFolder) {
      const bytes = bytesAsText(path)
      for (const { matches, foldersOnly, ignored } of rules) {
        if ((isFolder || !foldersOnly) && matches(bytes)) return ignored
      }
      return undefined
    },
  }
}

interface Rule {
  readonly matches: (bytes: string) => boolean
  readonly foldersOnly: boolean
  readonly ignored: boolean
}

function parseRule(line: string): Rule[] {
  const whole = line.replace(/\r$/, "")
  // Spaces at the end count only where the last one is escaped.
  const trimmed = whole.endsWith("\\ ") ? whole : whole.trimEnd()
  if (trimmed === "" || trimmed.startsWith("#")) return []
  const ignored = !trimmed.startsWith("!")
  const pattern = trimmed.replace(/^(?:!|\\(?=[!#]))/, "")
  // A slash at the start is looked for only where nothing was escaped before it.
  const isTied = pattern.startsWith("/") && !trimmed.startsWith("\\")
  const foldersOnly = pattern.endsWith("/") && pattern !== "/"
  const bare = pattern.slice(isTied ? 1 : 0, foldersOnly ? -1 : undefined)
  try {
    // The slash at the end may have been escaped.
    const glob = foldersOnly ? bare.replace(/\\$/, "") : bare
    return [{ matches: compileIgnoreGlob(anywhere(glob, isTied)), foldersOnly, ignored }]
  } catch (error) {
    if (error instanceof PatternError) return []
    throw error
  }
}

/** A slash at the start or in the middle ties a pattern to its folder; `a/**` is about what lies below `a`, not `a`. */
function anywhere(glob: string, isTied: boolean): string {
  const placed = isTied || glob.includes("/") || glob === "**" ? glob : `**/${glob}`
  return placed.endsWith("/**") ? `${placed}/*` : placed
}
