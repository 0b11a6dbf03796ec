import type { RE2JS } from "re2js"
import { re2SyntaxError } from "./text/re2-syntax.ts"

/** A regular expression in RE2 syntax with time linear in the text, for any pattern. */
export interface LinearPattern {
  /**
   * True if `text` has a match that starts at `from` or later and ends at `to` or earlier. The surrounding characters
   * decide `^`, `$` and `\b` at the ends, but are not part of a match.
   */
  test(text: string, from?: number, to?: number): boolean
  /** Number of instructions of the compiled pattern: the worst cost per character grows with it. */
  readonly size: number
}

export interface LinearPatternOptions {
  readonly ignoreCase?: boolean
  /** `^` and `$` match at the ends of lines, separated by `\n`. */
  readonly multiline?: boolean
  /** The syntax that the pattern is written in. Default: RE2's. */
  readonly syntax?: "RE2" | "JavaScript"
}

/** Its message completes "The pattern …" for the author of the pattern. */
export class PatternError extends Error {
  override readonly name = "PatternError"
}

/**
 * Throws PatternError at once, for a pattern in RE2 syntax. Patterns that pass can still be too large when their repetitions are
 * expanded, or name an unknown Unicode class: compiling finds that.
 */
export function checkPatternSyntax(source: string): void {
  checkLength(source)
  const problem = re2SyntaxError(source)
  if (problem !== undefined) throw new PatternError(explain(problem))
  if (source.includes("\\Q") && re2SyntaxError(`(?:${source})`) !== undefined) throw new PatternError(openQuotation)
}

/**
 * Throws PatternError. JavaScript's own engine backtracks, and a pattern from a model could block the event loop for
 * hours. The engine is loaded with the first pattern.
 */
export async function compileLinearPattern(
  given: string,
  { ignoreCase = false, multiline = false, syntax = "RE2" }: LinearPatternOptions = {},
): Promise<LinearPattern> {
  checkLength(given)
  const engine = await import("re2js")
  const source = syntax === "RE2" ? given : engine.RE2JS.translateRegExp(given)
  const flags = (ignoreCase ? engine.RE2JS.CASE_INSENSITIVE : 0) | (multiline ? engine.RE2JS.MULTILINE : 0)
  const compile = (pattern: string): RE2JS => {
    try {
      return engine.RE2JS.compile(pattern, flags)
    } catch (error) {
      if (error instanceof engine.RE2JSException) throw new PatternError(explain(error.message))
      throw error
    }
  }
  const whole = compile(source)
  const size = whole.programSize()
  if (size > maxProgramSize) {
    throw new PatternError(
      `is too large when its repetitions are expanded (${size} instructions, at most ${maxProgramSize}); ` +
        "use smaller bounds, * or +",
    )
  }
  const cut = new Map<string, RE2JS>()
  /** A character of any kind on a side represents the text that continues there. */
  const compileCut = (isCutBefore: boolean, isCutAfter: boolean): RE2JS => {
    const pattern = `${isCutBefore ? anyCharacter : ""}(?:${source})${isCutAfter ? anyCharacter : ""}`
    const compiled = cut.get(pattern) ?? compile(pattern)
    cut.set(pattern, compiled)
    return compiled
  }
  if (source.includes("\\Q")) compileQuoted(() => compileCut(false, true))
  return {
    size,
    test(text, from = 0, to = text.length) {
      if (from === 0 && to === text.length) return whole.test(text)
      return compileCut(from > 0, to < text.length).test(text.slice(Math.max(0, from - 1), to + 1))
    },
  }
}

const maxSourceLength = 1000
/** Near this limit, a line of 5,000 characters takes at most a fifth of a second. `.{0,400}error` has 807. */
const maxProgramSize = 1000
const anyCharacter = "(?s:.)"

function checkLength(source: string): void {
  if (source.length > maxSourceLength) throw new PatternError(`is longer than ${maxSourceLength} characters`)
}

const openQuotation = "has a \\Q without a matching \\E"

/** An open quotation swallows the text after it, so such a pattern cannot be embedded in another. */
function compileQuoted(compile: () => unknown): void {
  try {
    compile()
  } catch (error) {
    throw error instanceof PatternError ? new PatternError(openQuotation) : error
  }
}

const unsupported: readonly (readonly [RegExp, string])[] = [
  [/`\(\?[=!]/, "uses lookahead, which is not supported"],
  [/`\(\?<[=!]/, "uses lookbehind, which is not supported"],
  [/`\\[1-9k]/, "uses a backreference, which is not supported"],
]

function explain(message: string): string {
  const known = unsupported.find(([sign]) => sign.test(message))
  return known?.[1] ?? `is not valid in RE2 syntax: ${message.replace(/^error parsing regexp: /, "")}`
}
