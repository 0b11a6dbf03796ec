/** One page of a listing. */
export interface ListedPage {
  /** Keys, and common prefixes with their slash. */
  readonly names: readonly string[]
  /** The token of the next page; absent on the last. */
  readonly next?: string
}

/** Parses a listing. Returns null if it is incomplete. */
export function readListing(xml: string): ListedPage | null {
  if (!/<ListBucketResult[\s>]/.test(xml) || !/<\/ListBucketResult>\s*$/.test(xml)) return null
  const files = elements(xml, "Contents").map((content) => elementText(content, "Key"))
  const folders = elements(xml, "CommonPrefixes").map((prefix) => elementText(prefix, "Prefix"))
  const names = [...files, ...folders]
  if (!names.every((name) => name !== undefined)) return null
  const next = elementText(xml, "IsTruncated") === "true" ? elementText(xml, "NextContinuationToken") : undefined
  // A truncated page without a token must not be mistaken for the last page.
  if (next === undefined && elementText(xml, "IsTruncated") === "true") return null
  return { names, ...(next !== undefined && { next }) }
}

/** The text of the first element with this name, which contains no other element. */
export function elementText(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text === undefined ? undefined : decoded(text)
}

/** The elements with this name, which must not be nested. */
function elements(xml: string, name: string): string[] {
  const found: string[] = []
  const [open, close] = [`<${name}>`, `</${name}>`]
  for (let from = xml.indexOf(open); from >= 0; from = xml.indexOf(open, from)) {
    const to = xml.indexOf(close, from)
    if (to < 0) break
    found.push(xml.slice(from + open.length, to))
    from = to
  }
  return found
}

/** The entities that XML predefines. Others need a document type, which responses do not have. */
function decoded(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return entities[String(name)] ?? whole
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

export function encodeText(text: string): string {
  return text.replace(/[&<>]/g, (character) => (character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;"))
}
