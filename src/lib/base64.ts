/** In pieces, because the number of arguments of one call is limited. */
export function bytesToBase64(bytes: Uint8Array): string {
  let text = ""
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE))
  return btoa(text)
}

/** Throws if it is not base64. */
export function base64ToBytes(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

const PIECE = 8192
