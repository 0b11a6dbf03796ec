import { latin1 } from "../../lib/text-file.ts"

/**
 * True if all compressed streams of a PDF together decompress to at most this many bytes: readers decompress a stream
 * completely, and a few kilobytes can become gigabytes. `stop` is called between streams and throws if it takes too
 * long.
 */
export async function unpacksWithin(bytes: Uint8Array, maxBytes: number, stop: () => void): Promise<boolean> {
  const text = latin1(bytes)
  let left = maxBytes
  let streams = 0
  for (const { 0: word, index: at } of text.matchAll(/(?<!end)stream\r?\n?/g)) {
    stop()
    if (++streams > MAX_STREAMS) return false
    const end = text.indexOf("endstream", at)
    const packed = bytes.subarray(at + word.length, end === -1 ? bytes.length : end)
    const ratio = worstRatio(filtersIn(text.slice(Math.max(0, at - MAX_DICTIONARY), at)))
    left -= ratio === undefined ? await unpackedLength(packed, left) : packed.length * ratio
    if (left < 0) return false
  }
  return true
}

/** Far more than documents of the accepted size have. */
const MAX_STREAMS = 100_000
const MAX_DICTIONARY = 4096

/** The filters of the stream after a text, decoded: any character of a name may be written as its number. */
function filtersIn(text: string): readonly string[] {
  const dictionary = text
    .slice(text.lastIndexOf("endstream") + 1)
    .replace(/#([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  // A filter defined elsewhere can be any.
  if (/\/Filter\s*\d/.test(dictionary)) return ["elsewhere"]
  const lists = Array.from(dictionary.matchAll(/\/F(?:ilter)?\s*(\[[^\]]*\]|\/\w+)/g), ([, list = ""]) => list)
  return lists.flatMap((list) => list.match(/\w+/g) ?? []).filter((name) => Object.hasOwn(ratios, name))
}

/** Maximum expansion factor of each filter. */
const ratios: Readonly<Record<string, number>> = {
  FlateDecode: 1032,
  Fl: 1032,
  LZWDecode: 2731,
  LZW: 2731,
  RunLengthDecode: 64,
  RL: 64,
  ASCII85Decode: 4,
  A85: 4,
  ASCIIHexDecode: 1,
  AHx: 1,
  elsewhere: Number.POSITIVE_INFINITY,
}

/** Undefined if it can be measured: only deflate, or image compression. */
function worstRatio(filters: readonly string[]): number | undefined {
  const [first, second] = filters
  if (second === undefined && (first === undefined || first === "FlateDecode" || first === "Fl")) return undefined
  return filters.reduce((product, name) => product * (ratios[name] ?? 1), 1)
}

/** Uncompressed data takes no more than the file. */
async function unpackedLength(packed: Uint8Array, most: number): Promise<number> {
  if (!isZlib(packed)) return 0
  // Safe: the bytes of files are not shared between threads.
  const source = new Blob([packed as Uint8Array<ArrayBuffer>]).stream()
  const reader = source.pipeThrough(new DecompressionStream("deflate")).getReader()
  let length = 0
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      // Double compression occurs only in attacks.
      if (length === 0 && isZlib(chunk.value)) return Number.POSITIVE_INFINITY
      length += chunk.value.length
      if (length > most) break
    }
  } catch {
    // Damaged, or followed by other data: counts what was decompressed.
  } finally {
    await reader.cancel().catch(() => {})
  }
  return length
}

function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}
