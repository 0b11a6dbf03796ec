/** The image type, by its first bytes, if every provider accepts it; else undefined. */
export function imageTypeOf(start: Uint8Array): string | undefined {
  if (has(start, 0, "\x89PNG\r\n\x1a\n")) return "image/png"
  if (has(start, 0, "\xff\xd8\xff")) return "image/jpeg"
  if (has(start, 0, "GIF87a") || has(start, 0, "GIF89a")) return "image/gif"
  if (has(start, 0, "RIFF") && has(start, 8, "WEBP")) return "image/webp"
  return undefined
}

export function isPdf(start: Uint8Array): boolean {
  return has(start, 0, "%PDF-")
}

/**
 * Maximum base64 characters of one image or document: providers count the encoded form, and a rejected one is rejected
 * with every later request.
 */
export const MAX_BASE64_LENGTH = 5 * 1024 * 1024

/** The same limit in bytes. */
export const MAX_MEDIA_BYTES = (MAX_BASE64_LENGTH / 4) * 3

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** In pixels, from the file's header; undefined if it is unreadable. */
export function imageSizeOf(bytes: Uint8Array): ImageSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    switch (imageTypeOf(bytes)) {
      case "image/png":
        return { width: view.getUint32(16), height: view.getUint32(20) }
      case "image/gif":
        return { width: view.getUint16(6, true), height: view.getUint16(8, true) }
      case "image/webp":
        return webpSize(bytes, view)
      case "image/jpeg":
        return jpegSize(view)
      default:
        return undefined
    }
  } catch (error) {
    // A truncated header.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function webpSize(bytes: Uint8Array, view: DataView): ImageSize | undefined {
  if (has(bytes, 12, "VP8X")) {
    const size = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 0x10000 + 1
    return { width: size(24), height: size(27) }
  }
  if (has(bytes, 12, "VP8L")) {
    const packed = view.getUint32(21, true)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  if (!has(bytes, 12, "VP8 ")) return undefined
  return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
}

/** From segment to segment up to the one that starts a frame. */
function jpegSize(view: DataView): ImageSize | undefined {
  for (let at = 2; view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    while (view.getUint8(at + 1) === 0xff) at++
    const marker = view.getUint8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
  }
  return undefined
}

/** `sign`: one character per byte. */
function has(bytes: Uint8Array, at: number, sign: string): boolean {
  for (let index = 0; index < sign.length; index++) if (bytes[at + index] !== sign.charCodeAt(index)) return false
  return true
}
