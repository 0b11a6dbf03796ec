import type { TextPart } from "../contract/content.ts"
import { truncateUtf8, utf8Length } from "../lib/truncate.ts"

/** What a model is shown at most: the lower of the two counts. */
export interface OutputLimits {
  readonly maxBytes: number
  readonly maxCharacters: number
}

/** Text and content parts as they are, anything else as JSON. Throws where a value has no JSON. */
export function toParts(value: unknown): readonly TextPart[] {
  if (typeof value === "string") return [textPart(value)]
  if (isContent(value)) return value.map((part) => textPart(part.text))
  return [textPart(JSON.stringify(value) ?? "null")]
}

/** Cuts where the limits are reached; the last line then says how much is missing, within the limits too. */
export function boundParts(parts: readonly TextPart[], limits: OutputLimits): readonly TextPart[] {
  if (fits(parts, limits)) return parts
  const room = {
    maxBytes: Math.max(0, limits.maxBytes - markerRoom),
    maxCharacters: Math.max(0, limits.maxCharacters - markerRoom),
  }
  const kept: TextPart[] = []
  let cutBytes = 0
  for (const part of parts) {
    const cut = truncateUtf8(part.text, room)
    cutBytes += cut.bytes
    room.maxBytes = cut.truncated ? 0 : room.maxBytes - utf8Length(cut.text)
    room.maxCharacters -= cut.text.length
    if (cut.text !== "") kept.push({ type: "text", text: cut.text })
  }
  const marker = `[cut: ${cutBytes} bytes are missing]`
  const last = kept.pop()
  // A limit below the marker's own length leaves no room to say so.
  kept.push({ type: "text", text: last === undefined ? truncateUtf8(marker, limits).text : `${last.text}\n${marker}` })
  return kept
}

/** The kernel's error envelope. Its message gives way, so that it stays JSON. */
export function boundError(code: string, message: string, limits: OutputLimits): TextPart {
  let kept = wellFormed(message)
  let text = envelope(code, kept)
  while (kept !== "" && truncateUtf8(text, limits).truncated) {
    kept = truncateUtf8(kept, { maxBytes: Math.min(kept.length >> 1, limits.maxBytes) }).text
    text = envelope(code, kept === "" ? "" : `${kept}…`)
  }
  return { type: "text", text }
}

/** Longer than any marker with its line break. */
const markerRoom = 48

function fits(parts: readonly TextPart[], limits: OutputLimits): boolean {
  const only = parts.length === 1 ? parts[0] : undefined
  if (only !== undefined) return !truncateUtf8(only.text, limits).truncated
  let bytes = 0
  let characters = 0
  for (const { text } of parts) {
    bytes += utf8Length(text)
    characters += text.length
  }
  return bytes <= limits.maxBytes && characters <= limits.maxCharacters
}

function isContent(value: unknown): value is readonly TextPart[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTextPart)
}

function isTextPart(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    value.type === "text" &&
    "text" in value &&
    typeof value.text === "string"
  )
}

/** A part of our own: the tool may go on changing its. */
function textPart(text: string): TextPart {
  return { type: "text", text: wellFormed(text) }
}

const loneSurrogate = /\p{Surrogate}/gu

/** Half a character cannot be written as UTF-8, and providers refuse requests that hold one. */
function wellFormed(text: string): string {
  return text.replace(loneSurrogate, "\ufffd")
}

function envelope(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } })
}
