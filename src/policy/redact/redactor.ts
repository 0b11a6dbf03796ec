import type { Json } from "../../contract/json.ts"
import { isSecretName } from "../../lib/text/credential.ts"
import { formsOf, MIN_ENCODED_LENGTH } from "../../lib/text/secret-forms.ts"
import { hitsIn } from "./line-spellings.ts"
import { MASK, maskNamedIn } from "./names.ts"
import { checkSecret, MIN_SECRET_LENGTH, maskable } from "./secret-values.ts"
import { OPENING, RedactedStream } from "./stream.ts"
import { findTokens } from "./token-search.ts"
import { type Hit, type Sought, ValueSearch } from "./value-search.ts"
import { type Rewrite, rewriteTexts } from "./walk.ts"

/**
 * Replaces secrets by references: `{{secret:NAME}}` for a known value, `{{secret:NAME:form}}` for an encoding of it,
 * `{{secret:token/format}}` for a token that only its format gives away.
 */
export interface Redactor {
  /** For text that enters: also escapes literal references, so that they are never expanded. */
  text(text: string): string
  /** The same for every text, key and number of a value. Returns the same object if nothing was found. */
  json<Value>(value: Value): Value
  /** The same for opaque data of others, which must come back unchanged: finds known values only. */
  known<Value>(value: Value): Value
  /** For a text that may end within a secret, because it was cut. */
  cut(text: string): string
  /** For what may contain references of an earlier redaction: they stay. */
  again<Value>(value: Value): Value
  /** For text that arrives in pieces. */
  stream(): RedactedStream
  /** Restores what was redacted. Undefined if a reference has no value here: it must not be used as if it were one. */
  expand<Value extends Json>(value: Value): Value | undefined
  /** For what is shown or exported: masks fields with secret names too. Keeps references. */
  shown<Value>(value: Value): Value
  /** Secrets so short that only their plain forms are masked. */
  readonly weak: readonly string[]
}

/**
 * `secrets`: declared by the user, each checked. `found`: credentials that the runtime sends or that the host has; those that
 * cannot be masked are skipped. Found names with a slash are not expanded.
 */
export function createRedactor(
  secrets: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string>> = {},
): Redactor {
  const { sought, numbers, expansions, weak } = collect(secrets, found)
  const values = sought.length > 0 ? new ValueSearch(sought) : undefined

  function redact(text: string, isEntering: boolean, known?: readonly Hit[], before?: number): string {
    if (text.length < MIN_SECRET_LENGTH) return text
    return replaced(text, withTokens(text, known ?? (values ? hitsIn(values, text) : none), before), isEntering)
  }

  function replaced(text: string, hits: readonly Hit[], isEntering: boolean): string {
    if (hits.length === 0) return isEntering ? escaped(text) : text
    let redacted = ""
    let from = 0
    for (const { at, end, reference } of hits) {
      const between = text.slice(from, at)
      redacted += (isEntering ? escaped(between) : between) + reference
      from = end
    }
    const rest = text.slice(from)
    return redacted + (isEntering ? escaped(rest) : rest)
  }

  const entering: Rewrite = (value) => (typeof value === "string" ? redact(value, true) : (numbers.get(value) ?? value))
  const knownOnly: Rewrite = (value) =>
    typeof value === "string" ? replaced(value, values?.hits(value) ?? none, true) : (numbers.get(value) ?? value)
  const again: Rewrite = (value) => (typeof value === "string" ? redact(value, false) : value)
  const stream = () => new RedactedStream(values, (text, known, before) => redact(text, true, known, before))
  return {
    text: (text) => redact(text, true),
    json: (value) => rewriteTexts(value, entering),
    known: (value) => rewriteTexts(value, knownOnly),
    cut(text) {
      const pieces = stream()
      return pieces.push(text) + pieces.end()
    },
    again: (value) => rewriteTexts(value, again),
    stream,
    expand(value) {
      let isWhole = true
      const expanded = rewriteTexts(value, (text) =>
        expandIn(text, (reference) => {
          const restored = expansions.get(reference)
          if (restored === undefined) isWhole = false
          return restored ?? reference
        }),
      )
      return isWhole ? expanded : undefined
    },
    shown: (value) => maskNamed(rewriteTexts(value, again)),
    weak,
  }
}

interface Collected {
  readonly sought: readonly Sought[]
  /** References of secrets that are numbers, which JSON writes without quotes. */
  readonly numbers: ReadonlyMap<number, string>
  /** Texts by reference. */
  readonly expansions: ReadonlyMap<string, string>
  readonly weak: readonly string[]
}

function collect(secrets: Readonly<Record<string, string>>, found: Readonly<Record<string, string>>): Collected {
  const references = new Map<string, string>()
  const numbers = new Map<number, string>()
  const expansions = new Map<string, string>()
  const weak: string[] = []
  const add = (name: string, value: string) => {
    for (const form of formsOf(value)) {
      const reference = `{{secret:${name}${form.name === "" ? "" : `:${form.name}`}}}`
      if (!name.includes("/")) expansions.set(reference, form.text)
      if (!references.has(form.text)) references.set(form.text, reference)
    }
    if (String(Number(value)) !== value) return
    const reference = `{{secret:${name}:number}}`
    numbers.set(Number(value), reference)
    if (!name.includes("/")) expansions.set(reference, value)
  }
  for (const [name, given] of Object.entries(secrets)) {
    const value = checkSecret(name, given)
    if (value === undefined) continue
    if (value.length < MIN_ENCODED_LENGTH) weak.push(name)
    add(name, value)
  }
  for (const [name, given] of Object.entries(found)) {
    const value = maskable(given)
    if (value === undefined || value === secrets[name]?.trim()) continue
    // A second value of a declared name must not be restored as the first one.
    add(Object.hasOwn(secrets, name) ? `other/${name}` : name, value)
  }
  return { sought: [...references].map(([text, reference]) => ({ text, reference })), numbers, expansions, weak }
}

/** Token formats are searched only between known values, which have better names. */
function withTokens(text: string, known: readonly Hit[], before: number | undefined): readonly Hit[] {
  if (known.length === 0) return findTokens(text, 0, text.length, before)
  const hits: Hit[] = []
  let from = 0
  for (const hit of known) {
    hits.push(...findTokens(text, from, hit.at, before), hit)
    from = hit.end
  }
  hits.push(...findTokens(text, from, text.length, before))
  return hits
}

/** `{{secret:` becomes `{{secret::`, which no reference starts with. What is escaped already stays. */
function escaped(text: string): string {
  return text.includes(OPENING) ? text.replace(/\{\{secret:(?!:)/g, "{{secret::") : text
}

function expandIn(text: string | number, restore: (reference: string) => string): string | number {
  if (typeof text === "number" || !text.includes(OPENING)) return text
  const expanded = text.replace(/\{\{secret:(?::|[^{}:\s]{1,80}(?::[a-z0-9-]{1,40})?\}\})/g, (found) =>
    found === "{{secret::" ? OPENING : restore(found),
  )
  // The reference of a number stands alone: it was never part of a text.
  return /^\{\{secret:[^{}:\s]{1,80}:number\}\}$/.test(text) ? Number(expanded) : expanded
}

function maskNamed<Value>(value: Value): Value {
  const isObject = typeof value === "object" && value !== null
  // Safe: the same value, in which only texts were replaced.
  if (!isObject) return (typeof value === "string" ? maskNamedIn(value) : value) as Value
  // Safe: as above.
  if (Array.isArray(value)) return value.map(maskNamed) as Value
  const masked = Object.entries(value).map(([name, field]) => {
    const isPlain = typeof field === "string" || typeof field === "number"
    return [name, isPlain && isSecretName(name) ? MASK : maskNamed(field)]
  })
  // Safe: as above.
  return Object.fromEntries(masked) as Value
}

const none: readonly never[] = []
