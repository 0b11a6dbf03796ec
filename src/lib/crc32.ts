/** CRC-32 (IEEE 802.3) of a range of bytes, as in a flush's end mark. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = 0xffffffff
  let at = start
  for (; at + 4 <= end; at += 4) {
    // Safe: four more bytes are there.
    const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8)
    const high = (bytes[at + 2] as number) | ((bytes[at + 3] as number) << 8)
    crc ^= low | (high << 16)
    // Safe: the table has four times 256 entries.
    const first = (table[0x300 + (crc & 0xff)] as number) ^ (table[0x200 + ((crc >>> 8) & 0xff)] as number)
    const second = (table[0x100 + ((crc >>> 16) & 0xff)] as number) ^ (table[crc >>> 24] as number)
    crc = first ^ second
  }
  // Safe: `at` is before the end, and the index is a byte.
  for (; at < end; at++) crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] as number)) & 0xff] as number)
  return (crc ^ 0xffffffff) >>> 0
}

/** Four tables of 256, so that the loop takes four bytes a step. */
const table = buildTable()

function buildTable(): Int32Array {
  const result = new Int32Array(1024)
  for (let byte = 0; byte < 256; byte++) {
    let value = byte
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
    result[byte] = value
  }
  for (let at = 256; at < 1024; at++) {
    // Safe: what stands before it is filled.
    const before = result[at - 256] as number
    result[at] = (before >>> 8) ^ (result[before & 0xff] as number)
  }
  return result
}
