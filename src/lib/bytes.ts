export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false
  return true
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/**
 * Releases memory immediately. The collector would keep it for long, because buffers that waited for a model or disk
 * are old. It must not be read afterwards.
 */
export function letGo({ buffer }: Uint8Array<ArrayBuffer>): void {
  structuredClone(buffer, { transfer: [buffer] })
}
