/** The byte encoding of a text file. `latin1` accepts any bytes, so any other content survives unchanged. */
export type TextEncoding = "utf-8" | "utf-8-bom" | "utf-16le" | "utf-16be" | "latin1"

export interface TextFile {
  readonly text: string
  readonly encoding: TextEncoding
}

/** Undefined: binary, which no text tool should touch. */
export function decodeText(bytes: Uint8Array): TextFile | undefined {
  if (startsWith(bytes, 0xff, 0xfe)) return utf16(bytes, "utf-16le")
  if (startsWith(bytes, 0xfe, 0xff)) return utf16(bytes, "utf-16be")
  if (bytes.subarray(0, SNIFFED).includes(0)) return undefined
  const hasMark = startsWith(bytes, 0xef, 0xbb, 0xbf)
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(hasMark ? bytes.subarray(3) : bytes)
    return { text, encoding: hasMark ? "utf-8-bom" : "utf-8" }
  } catch {
    return { text: latin1(bytes), encoding: "latin1" }
  }
}

/**
 * The encoding of a text judged by its beginning, for display only; undefined: binary. A few invalid bytes do not make
 * a text Latin-1 if it has other characters in UTF-8.
 */
export function sniffEncoding(start: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | "latin1" | undefined {
  if (startsWith(start, 0xff, 0xfe)) return "utf-16le"
  if (startsWith(start, 0xfe, 0xff)) return "utf-16be"
  if (start.subarray(0, SNIFFED).includes(0)) return undefined
  try {
    // The following bytes may complete a character that is cut here.
    new TextDecoder("utf-8", { fatal: true }).decode(start, { stream: true })
    return "utf-8"
  } catch {
    return /[\u0080-\ufffc]/.test(new TextDecoder().decode(start)) ? "utf-8" : "latin1"
  }
}

/** The exact inverse of `decodeText`. Undefined: the encoding lacks a character. */
export function encodeText({ text, encoding }: TextFile): Uint8Array | undefined {
  switch (encoding) {
    case "utf-8":
      return new TextEncoder().encode(text)
    case "utf-8-bom":
      return new TextEncoder().encode(`\ufeff${text}`)
    case "utf-16le":
    case "utf-16be":
      return utf16Bytes(text, encoding === "utf-16le")
    case "latin1":
      return latin1Bytes(text)
  }
}

const SNIFFED = 8192

function startsWith(bytes: Uint8Array, ...mark: readonly number[]): boolean {
  return mark.every((byte, index) => bytes[index] === byte)
}

/** Done manually, because decoders replace half a character and lose it. */
function utf16(bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): TextFile | undefined {
  if (bytes.length % 2 === 1) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const pieces: string[] = []
  let units: number[] = []
  for (let at = 2; at < bytes.length; at += 2) {
    units.push(view.getUint16(at, encoding === "utf-16le"))
    if (units.length === PIECE) {
      pieces.push(String.fromCharCode(...units))
      units = []
    }
  }
  return { text: pieces.join("") + String.fromCharCode(...units), encoding }
}

function utf16Bytes(text: string, littleEndian: boolean): Uint8Array {
  const bytes = new Uint8Array(text.length * 2 + 2)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, 0xfeff, littleEndian)
  for (let index = 0; index < text.length; index++) view.setUint16(index * 2 + 2, text.charCodeAt(index), littleEndian)
  return bytes
}

/** One character per byte. */
export function latin1(bytes: Uint8Array): string {
  const pieces: string[] = []
  for (let at = 0; at < bytes.length; at += PIECE) pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)))
  return pieces.join("")
}

function latin1Bytes(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length)
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > 0xff) return undefined
    bytes[index] = code
  }
  return bytes
}

/** The number of arguments of one call is limited. */
const PIECE = 8192
