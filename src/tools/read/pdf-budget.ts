import { latin1 } from "../../lib/text-file.ts"

/**
 * Whether all that is packed in a PDF unpacks to so many bytes at most: readers unpack a stream as a whole, and a few
 * kilobytes can be gigabytes. `stop` is asked between two streams and throws where it takes too long.
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

/** Far more than documents of a size that we read have. */
const MAX_STREAMS = 100_000
const MAX_DICTIONARY = 4096

/** The filters of the stream behind a text, as they are meant: any character of a name may be written as its number. */
function filtersIn(text: string): readonly string[] {
  const dictionary = text
    .slice(text.lastIndexOf("endstream") + 1)
    .replace(/#([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  // A filter that stands elsewhere can be any.
  if (/\/Filter\s*\d/.test(dictionary)) return ["elsewhere"]
  const lists = Array.from(dictionary.matchAll(/\/F(?:ilter)?\s*(\[[^\]]*\]|\/\w+)/g), ([, list = ""]) => list)
  return lists.flatMap((list) => list.match(/\w+/g) ?? []).filter((name) => Object.hasOwn(ratios, name))
}

/** How much each filter makes of one byte at most. */
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

/** Undefined where it can be measured: nothing but deflate, or what only images are packed with. */
function worstRatio(filters: readonly string[]): number | undefined {
  const [first, second] = filters
  if (second === undefined && (first === undefined || first === "FlateDecode" || first === "Fl")) return undefined
  return filters.reduce((product, name) => product * (ratios[name] ?? 1), 1)
}

/** What is not deflated takes no more than the file does. */
async function unpackedLength(packed: Uint8Array, most: number): Promise<number> {
  if (!isZlib(packed)) return 0
  // Safe: the bytes of files are not shared between threads.
  const source = new Blob([packed as Uint8Array<ArrayBuffer>]).stream()
  const reader = source.pipeThrough(new DecompressionStream("deflate")).getReader()
  let length = 0
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      // Nobody packs twice but for harm.
      if (length === 0 && isZlib(chunk.value)) return Number.POSITIVE_INFINITY
      length += chunk.value.length
      if (length > most) break
    }
  } catch {
    // Damaged, or something follows it: what came counts.
  } finally {
    await reader.cancel().catch(() => {})
  }
  return length
}

function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}
