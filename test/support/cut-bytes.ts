/** Cut as the sizes say, which are repeated. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const next = at + (sizes[pieces.length % sizes.length] as number)
    pieces.push(bytes.subarray(at, next))
    at = next
  }
  return pieces
}
