import type { Hit, ValueSearch } from "./value-search.ts"

/** The hits in a text, with those that line breaks of an encoding or the columns of a hex dump hide. */
export function hitsIn(search: ValueSearch, text: string): readonly Hit[] {
  const plain = search.hits(text)
  if (!text.includes("\n") && !dumpLine.test(text)) return plain
  const hidden = [...(wrapped.test(text) ? wrappedHits(search, text) : []), ...dumpHits(search, text)]
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
function dumpHits(search: ValueSearch, text: string): readonly Hit[] {
  const lines = Array.from(text.matchAll(dumpLines), ({ index, 0: whole, 1: offset = "", 2: digits = "" }) => ({
    at: index + offset.length,
    end: index + whole.length,
    next: index + whole.length + 1,
    start: index,
    bytes: digits.replace(/\s+/g, ""),
  }))
  const hits: Hit[] = []
  for (let first = 0; first < lines.length; ) {
    let last = first
    while (lines[last + 1] !== undefined && lines[last + 1]?.start === lines[last]?.next) last++
    const block = lines.slice(first, last + 1)
    let length = 0
    const starts = block.map(({ bytes }) => {
      length += bytes.length / 2
      return length - bytes.length / 2
    })
    const characters = block.map(({ bytes }) =>
      bytes.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16))),
    )
    for (const { at, end, reference } of search.hits(characters.join(""))) {
      for (const [index, { at: from, end: to, bytes }] of block.entries()) {
        const start = starts[index] ?? 0
        if (start < end && start + bytes.length / 2 > at) hits.push({ at: from, end: to, reference })
      }
    }
    first = last + 1
  }
  return hits
}

const wrapped = /[\w+/=-]{40}\r?\n/
const lineBreak = /(?<=[\w+/=-]{40})\r?\n[ \t]{0,8}(?=[\w+/=-])/g
const dumpLine = /(?:^|\n)[0-9a-f]{6,8}:? {1,2}(?:[0-9a-f]{2,4} )/i
const dumpLines =
  /^([0-9a-f]{6,8}:? {1,2})((?:(?:[0-9a-f]{2}){1,2} {1,2}){1,16}(?:[0-9a-f]{2}){0,2})(?: [^\n]*|\|[^\n]*)?$/gim
