/** A pattern for one text in which `*` stands for any characters. */
export function matchesText(pattern: string, text: string): boolean {
  return matches(pattern, text, "*", isSame)
}

/** A pattern of parts: `**` stands for any number of parts, `*` for characters within one. */
export function matchesParts(pattern: readonly string[], parts: readonly string[]): boolean {
  return matches(pattern, parts, "**", matchesPart)
}

/** The path of an agent, or a backend: `*` stays within a part, and `*` alone is every name. */
export function compileName(pattern: string): (name: string) => boolean {
  if (pattern === "*" || pattern === "**") return () => true
  if (!pattern.includes("*")) return (name) => name === pattern
  const parts = pattern.split("/")
  return (name) => matchesParts(parts, name.split("/"))
}

/** Case, Unicode form and invisible characters: file systems differ in which of them they compare. */
export function fold(text: string): string {
  if (/^[\x21-\x40\x5b-\x7e]*$/.test(text)) return text
  return text
    .normalize("NFC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFC")
}

export function listOf(given: string | readonly string[] | undefined): readonly string[] {
  return given === undefined ? [] : typeof given === "string" ? [given] : given
}

type Items = string | readonly string[]

/** `star` stands for any number of items. Takes time proportional to items times pattern. */
function matches(pattern: Items, items: Items, star: string, fits: (part: string, item: string) => boolean): boolean {
  let at = 0
  let patternAt = 0
  let starAt = -1
  let resumeAt = 0
  while (at < items.length) {
    const part = pattern[patternAt]
    if (part === star) {
      starAt = patternAt++
      resumeAt = at
    } else if (part !== undefined && fits(part, items[at] ?? "")) {
      patternAt++
      at++
    } else if (starAt === -1) return false
    else {
      // Only the last star can need more items: the others are as short as possible.
      patternAt = starAt + 1
      at = ++resumeAt
    }
  }
  while (pattern[patternAt] === star) patternAt++
  return patternAt === pattern.length
}

function isSame(part: string, item: string): boolean {
  return part === item
}

function matchesPart(pattern: string, part: string): boolean {
  return pattern.includes("*") ? matchesText(pattern, part) : pattern === part
}
