import { formsOf, MIN_ENCODED_LENGTH } from "./secret-forms.ts"

/**
 * The secrets that requests have sent, whose receivers may repeat them. The run's redactor knows those that were known when the run
 * began; a value that a function has returned since is masked here.
 */
export class Masks {
  /** The newest values by spelling-independent name; an older value of a name stays. */
  readonly #values = new Map<string, string>()
  #spellings: readonly string[] = []

  add(name: string, value: string): void {
    const trimmed = value.trim()
    if (!isMaskable(trimmed) || this.#values.has(trimmed)) return
    this.#values.set(trimmed, name)
    const [oldest] = this.#values.keys()
    if (this.#values.size > MAX_VALUES && oldest !== undefined) this.#values.delete(oldest)
    const spellings = [...this.#values.keys()].flatMap((each) => formsOf(each).map(({ text }) => text))
    this.#spellings = [...new Set(spellings)].sort((left, right) => right.length - left.length)
  }

  /** By a name for each. */
  values(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#values].map(([value, name], index) => [`${name}/${index}`, value]))
  }

  text(text: string): string {
    let clean = text
    for (const spelling of this.#spellings) clean = clean.replaceAll(spelling, MASK)
    return clean
  }

  /** For a text that may end within a secret. */
  cut(text: string): string {
    const clean = this.text(text)
    const longest = Math.max(0, ...this.#spellings.map((spelling) => startAtEnd(clean, spelling)))
    return longest === 0 ? clean : clean.slice(0, -longest) + MASK
  }
}

/** The length of the longest start of `spelling` with which a text ends, if it says something about the secret. */
function startAtEnd(text: string, spelling: string): number {
  for (let length = Math.min(spelling.length - 1, text.length); length >= MIN_LENGTH; length--) {
    if (text.endsWith(spelling.slice(0, length))) return length
  }
  return 0
}

/** A short word would be masked in ordinary text. */
function isMaskable(value: string): boolean {
  return value.length >= MIN_LENGTH && !(value.length < MIN_ENCODED_LENGTH && /^[A-Za-z]+$/.test(value))
}

const MASK = "[secret]"
const MIN_LENGTH = 4
const MAX_VALUES = 200
