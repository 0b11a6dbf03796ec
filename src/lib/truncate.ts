export interface Truncation {
  readonly text: string
  readonly truncated: boolean
  /** Number of UTF-8 bytes cut; 0 if none. */
  readonly bytes: number
}

export interface TruncationLimits {
  readonly maxBytes: number
  /** In UTF-16 units, as `length` counts. */
  readonly maxCharacters?: number
}

/** The longest start of a text within both limits, never ending inside a character. */
export function truncateUtf8(text: string, { maxBytes, maxCharacters = Infinity }: TruncationLimits): Truncation {
  // A UTF-16 unit takes at most three bytes, so most texts need no counting.
  if (text.length * 3 <= maxBytes && text.length <= maxCharacters) return { text, truncated: false, bytes: 0 }

  let end = 0
  let keptBytes = 0
  while (end < text.length) {
    const units = unitsAt(text, end)
    const size = bytesAt(text, end, units)
    if (keptBytes + size > maxBytes || end + units > maxCharacters) break
    keptBytes += size
    end += units
  }
  if (end === text.length) return { text, truncated: false, bytes: 0 }
  return { text: text.slice(0, end), truncated: true, bytes: utf8Length(text, end) }
}

/** The first characters of a text, never ending inside one. Costs nothing for what follows them. */
export function startOf(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  return text.slice(0, characterStart(text, maxCharacters))
}

/** True if an index is between the two units of one character. */
export function isInsideCharacter(text: string, index: number): boolean {
  return index > 0 && index < text.length && unitsAt(text, index - 1) === 2
}

/** The index, or the one before it if it is inside a character. */
export function characterStart(text: string, index: number): number {
  return isInsideCharacter(text, index) ? index - 1 : index
}

/** The longest end of a text within both limits, never starting inside a character. */
export function lastOfUtf8(text: string, { maxBytes, maxCharacters = Infinity }: TruncationLimits): string {
  let start = text.length
  let keptBytes = 0
  while (start > 0) {
    const units = start > 1 && unitsAt(text, start - 2) === 2 ? 2 : 1
    keptBytes += bytesAt(text, start - units, units)
    if (keptBytes > maxBytes || text.length - start + units > maxCharacters) break
    start -= units
  }
  return text.slice(start)
}

/** The bytes of `text` from `start` on, as TextEncoder would write them. */
export function utf8Length(text: string, start = 0): number {
  let bytes = 0
  for (let index = start; index < text.length; ) {
    const units = unitsAt(text, index)
    bytes += bytesAt(text, index, units)
    index += units
  }
  return bytes
}

function unitsAt(text: string, index: number): 1 | 2 {
  const unit = text.charCodeAt(index)
  if (unit < 0xd800 || unit > 0xdbff || index + 1 === text.length) return 1
  const next = text.charCodeAt(index + 1)
  return next >= 0xdc00 && next <= 0xdfff ? 2 : 1
}

function bytesAt(text: string, index: number, units: 1 | 2): number {
  if (units === 2) return 4
  const unit = text.charCodeAt(index)
  // A lone surrogate is written as U+FFFD, which also has three bytes.
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
}
