import { PatternError } from "../../lib/linear-pattern.ts"
import { bytesAsText, compileIgnoreGlob } from "./ignore-glob.ts"

/** The rules of one ignore file for the paths below its folder. */
export interface IgnoreFile {
  /** The last matching rule applies; undefined: none matches. */
  readonly says: (path: string, isFolder: boolean) => boolean | undefined
  /** True if a rule re-includes what another one excluded. */
  readonly hasExceptions: boolean
}

/**
 * Parses a .gitignore file as ripgrep does, since both must exclude the same files: unlike git it supports `{a,b}`.
 * Invalid lines are skipped.
 */
export function parseIgnoreFile(text: string): IgnoreFile {
  const lines = text.split("\n")
  // Invalid UTF-8 ends the file.
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
  // Trailing spaces count only if the last one is escaped.
  const trimmed = whole.endsWith("\\ ") ? whole : whole.trimEnd()
  if (trimmed === "" || trimmed.startsWith("#")) return []
  const ignored = !trimmed.startsWith("!")
  const pattern = trimmed.replace(/^(?:!|\\(?=[!#]))/, "")
  // A leading slash counts only if nothing was escaped before it.
  const isTied = pattern.startsWith("/") && !trimmed.startsWith("\\")
  const foldersOnly = pattern.endsWith("/") && pattern !== "/"
  const bare = pattern.slice(isTied ? 1 : 0, foldersOnly ? -1 : undefined)
  try {
    // The trailing slash may have been escaped.
    const glob = foldersOnly ? bare.replace(/\\$/, "") : bare
    return [{ matches: compileIgnoreGlob(anywhere(glob, isTied)), foldersOnly, ignored }]
  } catch (error) {
    if (error instanceof PatternError) return []
    throw error
  }
}

/**
 * A slash at the start or in the middle anchors a pattern to its folder; `a/**` matches everything below `a`, not `a`.
 */
function anywhere(glob: string, isTied: boolean): string {
  const placed = isTied || glob.includes("/") || glob === "**" ? glob : `**/${glob}`
  return placed.endsWith("/**") ? `${placed}/*` : placed
}
