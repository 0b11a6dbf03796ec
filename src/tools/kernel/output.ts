import type { ContentPart, TextPart } from "../../contract/content.ts"
import { lastOfUtf8, truncateUtf8, utf8Length } from "../../lib/truncate.ts"
import { wellFormed } from "./content-parts.ts"

/** The maximum that a model is shown: the lower of the two limits applies. */
export interface OutputLimits {
  readonly maxBytes: number
  readonly maxCharacters: number
}

/** True if the text of all parts together is within the limits. */
export function fits(parts: readonly ContentPart[], limits: OutputLimits): boolean {
  const only = parts.length === 1 ? parts[0] : undefined
  if (only?.type === "text") return !truncateUtf8(only.text, limits).truncated
  let bytes = 0
  let characters = 0
  for (const part of parts) {
    if (part.type !== "text") continue
    bytes += utf8Length(part.text)
    characters += part.text.length
  }
  return bytes <= limits.maxBytes && characters <= limits.maxCharacters
}

/**
 * Cuts text to the limits, including a line with the number of omitted bytes. `kept`: the path of the full text; its
 * end is then shown too, after that line.
 */
export function cutParts(parts: readonly ContentPart[], limits: OutputLimits, kept?: Kept): readonly ContentPart[] {
  const where =
    kept === undefined ? "" : "path" in kept ? `; the complete output is at ${kept.path}` : "; it could not be saved"
  const room = roomBeside(limits, where)
  // If the limit has no room for the path, it is omitted.
  if (kept !== undefined && (room.maxBytes === 0 || room.maxCharacters === 0)) return cutParts(parts, limits)
  const end = kept !== undefined && "path" in kept ? endOf(parts, halved(room)) : ""
  room.maxBytes -= utf8Length(end)
  room.maxCharacters -= end.length
  const shown: ContentPart[] = []
  let cutBytes = -utf8Length(end)
  for (const part of parts) {
    if (part.type !== "text") {
      shown.push(part)
      continue
    }
    const cut = truncateUtf8(part.text, room)
    cutBytes += cut.bytes
    room.maxBytes = cut.truncated ? 0 : room.maxBytes - utf8Length(cut.text)
    room.maxCharacters -= cut.text.length
    if (cut.text !== "") shown.push({ type: "text", text: cut.text })
  }
  const marker = `[cut: ${cutBytes} bytes omitted${where}]${end === "" ? "" : `\n${end}`}`
  const last = shown.at(-1)
  // A limit below the marker's own length has no room for the marker.
  if (last?.type !== "text") return [...shown, { type: "text", text: truncateUtf8(marker, limits).text }]
  return [...shown.slice(0, -1), { type: "text", text: `${last.text}\n${marker}` }]
}

/** The state of the full text: saved, or saving failed. */
export type Kept = { readonly path: string } | { readonly failed: true }

/** The bytes left by the marker. */
function roomBeside({ maxBytes, maxCharacters }: OutputLimits, where: string) {
  const taken = markerRoom + utf8Length(where)
  return { maxBytes: Math.max(0, maxBytes - taken), maxCharacters: Math.max(0, maxCharacters - taken) }
}

function halved({ maxBytes, maxCharacters }: OutputLimits): OutputLimits {
  return { maxBytes: maxBytes >> 1, maxCharacters: maxCharacters >> 1 }
}

/** The end of the last text. */
function endOf(parts: readonly ContentPart[], limits: OutputLimits): string {
  const last = parts.findLast((part) => part.type === "text")
  return last?.type === "text" ? lastOfUtf8(last.text, limits) : ""
}

/** The kernel's error envelope. Its message is shortened, so that it stays valid JSON. */
export function boundError(code: string, message: string, limits: OutputLimits): TextPart {
  let kept = wellFormed(message)
  let text = envelope(code, kept)
  while (kept !== "" && truncateUtf8(text, limits).truncated) {
    kept = truncateUtf8(kept, { maxBytes: Math.min(kept.length >> 1, limits.maxBytes) }).text
    text = envelope(code, kept === "" ? "" : `${kept}…`)
  }
  return { type: "text", text }
}

/** Longer than any marker with its line breaks, except for the path. */
const markerRoom = 48

function envelope(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } })
}
