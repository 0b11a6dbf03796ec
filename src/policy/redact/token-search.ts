import { type TokenFormat, tokenFormats } from "./token-formats.ts"
import type { Hit } from "./value-search.ts"

/**
 * Finds tokens of known formats between `from` and `to`, in order. `before`: the character in front of the text, if it
 * continues another one.
 */
export function findTokens(text: string, from: number, to: number, before = Number.NaN): readonly Hit[] {
  let hits: Hit[] | undefined
  let lastEnd = from
  let next = from
  for (let at = nextStart(text, next, to); at !== -1; at = nextStart(text, next, to)) {
    const hit = tokenAt(text, at, lastEnd, to, before)
    next = hit ? hit.end : at + 1
    if (hit === undefined) continue
    hits ??= []
    hits.push(hit)
    lastEnd = hit.end
  }
  return hits ?? none
}

/** The first place from which on the text could be a token that more text would complete; -1 if there is none. */
export function unfinishedToken(text: string, before = Number.NaN): number {
  let next = 0
  for (let at = nextStart(text, next, text.length); at !== -1; at = nextStart(text, next, text.length)) {
    const format = formatsAt(text, at).find((each) => isUnfinished(each, text, at, before))
    if (format) return startOf(format, text, at, 0)
    next = tokenAt(text, at, at, text.length, before)?.end ?? at + 1
  }
  for (let at = Math.max(next, text.length - PREFIX + 1); at < text.length; at++) {
    const formats = partialPrefixes.get(text.slice(at))
    if (formats?.some((format) => mayStartAt(format, text, at, before))) return at
  }
  return -1
}

function isUnfinished(format: TokenFormat, text: string, at: number, before: number): boolean {
  format.unfinished.lastIndex = at
  return mayStartAt(format, text, at, before) && format.unfinished.test(text)
}

/** Attempts to match a format so far: proves in tests that the work grows with the input only. */
export const work = { attempts: 0 }

function tokenAt(text: string, at: number, from: number, to: number, before: number): Hit | undefined {
  for (const format of formatsAt(text, at)) {
    if (!mayStartAt(format, text, at, before)) continue
    work.attempts++
    format.pattern.lastIndex = at
    const found = format.pattern.exec(text)
    if (found === null || at + found[0].length > to) continue
    const shown = found[1]?.length ?? 0
    const start = shown > 0 ? at + shown : startOf(format, text, at, from)
    return { at: start, end: at + found[0].length, reference: `{{secret:token/${format.name}}}` }
  }
  return undefined
}

/** A mark inside a token: the token starts before it. */
function startOf({ reaches }: TokenFormat, text: string, at: number, from: number): number {
  let start = at
  if (reaches) while (start > from && at - start < MAX_REACH && reaches.test(text.charAt(start - 1))) start--
  return start
}

function mayStartAt({ anywhere, whole }: TokenFormat, text: string, at: number, before: number): boolean {
  if (anywhere) return true
  const code = at === 0 ? before : text.charCodeAt(at - 1)
  // A dash in front is part of the same run of characters, which was searched from its start.
  return !isWord(code) && !(whole && code === DASH)
}

function isWord(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
}

/** The next place of a prefix (Wu–Manber with windows of three characters and blocks of two). */
function nextStart(text: string, from: number, to: number): number {
  for (let end = from + PREFIX - 1; end < to; ) {
    const last = text.charCodeAt(end)
    const middle = text.charCodeAt(end - 1)
    const shift = (last | middle) < 128 ? shifts[(middle << 7) | last] : 2
    if (shift === 0) {
      if (formats.has(keyAt(text, end - PREFIX + 1))) return end - PREFIX + 1
      end++
    } else end += shift ?? 2
  }
  return -1
}

function formatsAt(text: string, at: number): readonly TokenFormat[] {
  return formats.get(keyAt(text, at)) ?? none
}

function keyAt(text: string, at: number): number {
  return (text.charCodeAt(at) << 14) | (text.charCodeAt(at + 1) << 7) | text.charCodeAt(at + 2)
}

const PREFIX = 3
const MAX_REACH = 256
const DASH = 45
const none: readonly never[] = []
const prefixes = tokenFormats.flatMap((format) => format.prefixes.map((prefix) => ({ prefix, format })))
const formats = grouped(prefixes.map(({ prefix, format }) => [keyAt(prefix, 0), format]))
/** The formats that start with these one or two characters. */
const partialPrefixes = grouped(
  prefixes.flatMap(({ prefix, format }) => [1, 2].map((length) => [prefix.slice(0, length), format] as const)),
)
const shifts = shiftsOf(prefixes.map(({ prefix }) => prefix))

function grouped<Key>(entries: readonly (readonly [Key, TokenFormat])[]): ReadonlyMap<Key, readonly TokenFormat[]> {
  const groups = new Map<Key, TokenFormat[]>()
  for (const [key, format] of entries) groups.set(key, [...(groups.get(key) ?? []), format])
  return groups
}

function shiftsOf(all: readonly string[]): Uint8Array {
  const table = new Uint8Array(128 * 128).fill(2)
  for (const prefix of all) {
    const start = (prefix.charCodeAt(0) << 7) | prefix.charCodeAt(1)
    table[start] = Math.min(1, table[start] ?? 1)
    table[(prefix.charCodeAt(1) << 7) | prefix.charCodeAt(2)] = 0
  }
  return table
}
