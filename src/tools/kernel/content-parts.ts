import type { ContentPart, FilePart, ImagePart, TextPart } from "../../contract/content.ts"
import { base64ToBytes } from "../../lib/bytes.ts"
import { attachmentLabel } from "../../lib/content.ts"
import { imageTypeOf, isPdf, MAX_BASE64_LENGTH, MAX_MEDIA_BYTES } from "../media.ts"

/** A tool's return value as parts that every provider accepts. Throws if a value is not JSON. */
export function toParts(value: unknown): readonly ContentPart[] {
  if (typeof value === "string") return [textPart(value)]
  const parts = readParts(value)
  if (parts === undefined) return [textPart(JSON.stringify(value) ?? "null")]
  let room = MAX_BASE64_OF_RESULT
  return parts.map((part) => {
    const taken = part.type === "text" ? part : takenMedia(part, room)
    if (taken.type !== "text") room -= taken.data.length
    return taken
  })
}

/** Redacts texts and file names. Images and documents are not searched. */
export function redactParts(parts: readonly ContentPart[], redact: (text: string) => string): readonly ContentPart[] {
  return parts.map((part) => {
    if (part.type === "text") return redactedText(part, redact)
    return part.type === "file" && part.name !== undefined ? { ...part, name: redact(part.name) } : part
  })
}

function redactedText(part: TextPart, redact: (text: string) => string): TextPart {
  const text = redact(part.text)
  return text === part.text ? part : { type: "text", text }
}

/** A lone surrogate cannot be written as UTF-8, and providers reject requests that contain one. */
export function wellFormed(text: string): string {
  return text.replace(loneSurrogate, "\ufffd")
}

const loneSurrogate = /\p{Surrogate}/gu

/**
 * Total size of images and documents of one result: a request has to contain them together with everything before it.
 */
const MAX_BASE64_OF_RESULT = 2 * MAX_BASE64_LENGTH

/** Copies, since the tool may change its own later; undefined if the value is something else. */
function readParts(value: unknown): readonly ContentPart[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const parts: ContentPart[] = []
  for (const each of value) {
    const part = readPart(each)
    if (part === undefined) return undefined
    parts.push(part)
  }
  return parts
}

function readPart(value: unknown): ContentPart | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const { type, text, mediaType, data, name } = value as Readonly<Record<string, unknown>> // Safe: each is checked.
  if (type === "text") return typeof text === "string" ? textPart(text) : undefined
  if ((type !== "image" && type !== "file") || typeof mediaType !== "string" || typeof data !== "string") {
    return undefined
  }
  return type === "image"
    ? { type, mediaType, data }
    : { type, mediaType, data, ...(typeof name === "string" && { name: wellFormed(name) }) }
}

/** Content that a provider would reject breaks every later request: the model gets a text notice instead. */
function takenMedia(part: ImagePart | FilePart, room: number): ContentPart {
  const { data } = part
  const leftOut = (why: string) => textPart(`${attachmentLabel(part)} was omitted: ${why}.`)
  if (data.length > MAX_BASE64_LENGTH) return leftOut(`it has more than ${MAX_MEDIA_BYTES} bytes`)
  if (data.length > room) return leftOut("the result has too many bytes of images and documents")
  if (data === "" || data.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(data)) return leftOut("it is not base64")
  const start = base64ToBytes(data.slice(0, 16))
  if (part.type === "image") {
    const mediaType = imageTypeOf(start)
    return mediaType === undefined ? leftOut("it is not a PNG, JPEG, GIF or WebP") : { ...part, mediaType }
  }
  if (isPdf(start)) return { ...part, mediaType: "application/pdf" }
  if (part.mediaType.startsWith("text/") || part.mediaType === "application/json") {
    const text = new TextDecoder().decode(base64ToBytes(data))
    return textPart(part.name === undefined ? text : `${part.name}:\n${text}`)
  }
  return leftOut("it is neither a PDF nor text")
}

/** Valid UTF-16, whatever the tool returned. */
function textPart(text: string): TextPart {
  return { type: "text", text: wellFormed(text) }
}
