import { closest } from "../../lib/closest.ts"
import { kindOf } from "../../lib/known-keys.ts"
import { checkPatternSyntax, PatternError } from "../../lib/linear-pattern.ts"

/** Collects the problems of a document, each with its place. */
export class Problems {
  readonly found: { readonly place: string; readonly message: string; readonly fix: string }[] = []

  readonly #patterns: { readonly place: string; readonly compile: () => Promise<unknown> }[] = []

  add(place: string, message: string, fix: string): void {
    this.found.push({ place, message, fix })
  }

  checkObject(place: string, value: unknown): value is Readonly<Record<string, unknown>> {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return true
    this.add(place, `is ${kindOf(value)}, not an object`, "Write an object.")
    return false
  }

  /** True for an object, even with unknown keys. */
  checkKeys(place: string, value: unknown, known: readonly string[]): value is Readonly<Record<string, unknown>> {
    if (!this.checkObject(place, value)) return false
    for (const key of Object.keys(value)) {
      if (known.includes(key)) continue
      const meant = closest(key, known)
      const fix = meant === undefined ? `Use one of: ${known.join(", ")}.` : `Did you mean ${JSON.stringify(meant)}?`
      this.add(place, `has an unknown key ${JSON.stringify(key.slice(0, 80))}`, fix)
    }
    return true
  }

  checkChoice(place: string, value: unknown, choices: readonly string[]): void {
    if (typeof value === "string" && choices.includes(value)) return
    const given = typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : kindOf(value)
    this.add(place, `is ${given}`, `Use one of: ${choices.join(", ")}.`)
  }

  checkText(place: string, value: unknown): value is string {
    if (typeof value === "string" && value.trim() !== "") return true
    this.add(place, value === "" ? "is empty" : `is ${kindOf(value)}, not a text`, "Write a text.")
    return false
  }

  /** A text or a list of texts. A list may not be empty: it would never match. */
  texts(place: string, value: unknown): readonly (readonly [place: string, text: string])[] {
    if (!Array.isArray(value)) return this.checkText(place, value) ? [[place, value]] : []
    if (value.length === 0) this.add(place, "is an empty list, which never matches", "Add an entry, or omit the key.")
    return value.flatMap((text, index) => {
      const at = `${place}[${index}]`
      return this.checkText(at, text) ? [[at, text] as const] : []
    })
  }

  /** A regular expression. Its syntax is checked at once; `checkPatterns` compiles it as it will be used. */
  pattern(place: string, value: unknown, compile: (pattern: string) => Promise<unknown>): void {
    if (!this.checkText(place, value)) return
    try {
      checkPatternSyntax(value)
      this.#patterns.push({ place, compile: () => compile(value) })
    } catch (error) {
      this.#addPattern(place, error)
    }
  }

  /** Loads the engine, if there is a pattern. One with lookahead or backreferences is rejected: it could take exponential time. */
  async checkPatterns(): Promise<void> {
    for (const { place, compile } of this.#patterns) {
      await compile().catch((error: unknown) => this.#addPattern(place, error))
    }
  }

  #addPattern(place: string, error: unknown): void {
    if (!(error instanceof PatternError)) throw error
    this.add(place, error.message, "Write a regular expression in RE2 syntax.")
  }

  items(place: string, value: unknown): readonly (readonly [place: string, item: unknown])[] {
    if (value === undefined) return []
    if (Array.isArray(value)) return value.map((item, index) => [`${place}[${index}]`, item])
    this.add(place, `is ${kindOf(value)}, not a list`, "Write a list.")
    return []
  }
}
