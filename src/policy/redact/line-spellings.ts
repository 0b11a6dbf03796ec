import type { Hit, ValueSearch } from "./value-search.ts"

/** The hits in a text, with those that line breaks of an encoding or the columns of a hex dump hide. */
export function hitsIn(search: ValueSearch, text: string): readonly Hit[] {
  const plain = search.hits(text)
  if (!text.includes("\n") && !dumpLine.test(text)) return plain
  const hidden = [
    ...(wrapped.test(text) ? wrappedHits(search, text) : []),
    ...dumpHits(search, text, hexLines, hexCodes),
    ...dumpHits(search, text, decimalLines, decimalCodes),
  ]
  if (hidden.length === 0) return plain
  const all = [...plain, ...hidden].sort((left, right) => left.at - right.at || right.end - left.end)
  let end = 0
  return all.filter((hit) => {
    if (hit.at < end) return false
    end = hit.end
    return true
  })
}

/** Base64 and hex in lines of a fixed length: searched again without the line breaks. */
function wrappedHits(search: ValueSearch, text: string): readonly Hit[] {
  const breaks: { readonly at: number; readonly removed: number }[] = []
  let removed = 0
  const joined = text.replace(lineBreak, (found, at: number) => {
    removed += found.length
    breaks.push({ at: at + found.length - removed, removed })
    return ""
  })
  let next = 0
  let before = 0
  /** The place in the text of a place in `joined`; places come in ascending order. */
  const placeOf = (at: number) => {
    for (; next < breaks.length && (breaks[next]?.at ?? 0) <= at; next++) before = breaks[next]?.removed ?? before
    return at + before
  }
  return search.hits(joined).flatMap((hit) => {
    const at = placeOf(hit.at)
    const end = placeOf(hit.end - 1) + 1
    return end - at > hit.end - hit.at ? [{ ...hit, at, end }] : []
  })
}

/** The bytes of neighbouring lines of a dump are searched together; each line that has a part of a secret is masked as a whole. */
function dumpHits(
  search: ValueSearch,
  text: string,
  dumpLines: RegExp,
  codesIn: (digits: string) => readonly number[],
): readonly Hit[] {
  const lines = Array.from(text.matchAll(dumpLines), ({ index, 0: whole, 1: offset = "", 2: digits = "" }) => ({
    at: index + offset.length,
    end: index + whole.length,
    next: index + whole.length + 1,
    start: index,
    characters: codesIn(digits).map((code) => String.fromCharCode(code)),
  }))
  const hits: Hit[] = []
  for (let first = 0; first < lines.length; ) {
    let last = first
    while (lines[last + 1] !== undefined && lines[last + 1]?.start === lines[last]?.next) last++
    const block = lines.slice(first, last + 1)
    let length = 0
    const starts = block.map(({ characters }) => {
      length += characters.length
      return length - characters.length
    })
    for (const { at, end, reference } of search.hits(block.flatMap(({ characters }) => characters).join(""))) {
      for (const [index, { at: from, end: to, characters }] of block.entries()) {
        const start = starts[index] ?? 0
        if (start < end && start + characters.length > at) hits.push({ at: from, end: to, reference })
      }
    }
    first = last + 1
  }
  return hits
}

const wrapped = /[\w+/=-]{40}\r?\n/
const lineBreak = /(?<=[\w+/=-]{40})\r?\n[ \t]{0,8}(?=[\w+/=-])/g
const dumpLine = /(?:^|\n)[0-9a-f]{6,8}:? {1,2}(?:[0-9a-f]{2,4} )|(?:[0-9a-f]{2} ){3}/i
/** Of xxd, hexdump and od, with or without the offset, and with or without the text next to the bytes. */
const hexLines =
  /^((?:[0-9a-f]{6,8}:?)? {0,2})((?:(?:[0-9a-f]{2}){1,2} {1,2}){1,16}(?:[0-9a-f]{2}){0,2})(?: [^\n]*|\|[^\n]*)?$/gim
/** An array of numbers, and the decimal dump of od. */
const decimalLines =
  /^((?:[0-9a-f]{6,8})?[ \t]{0,8}\[?[ \t]{0,4})(\d{1,3}(?:,?[ \t]{1,4}\d{1,3}|,\d{1,3})*),?[ \t]{0,4}\]?\r?$/gim

function hexCodes(digits: string): readonly number[] {
  return Array.from(digits.matchAll(/[0-9a-f]{2}/gi), ([pair]) => Number.parseInt(pair, 16))
}

function decimalCodes(digits: string): readonly number[] {
  return digits.split(/[,\s]+/).map(Number)
}
