import { firstWords, withoutHalfWord } from "../../lib/text/before-cut.ts"
import { uniqueSlugs } from "./refs.ts"

/** The text of a document, and how to split it. */
export interface ExtractedText {
  readonly text: string
  /** `markdown`: at its headings. `lines`: into parts of some lines. `table`: the same, each with the first line. */
  readonly kind: "markdown" | "lines" | "table"
}

/** A part of a document that can be found and read by itself. */
export interface Section {
  /** Empty: what comes before the first heading. */
  readonly slug: string
  readonly title: string
  /** The headings above it. */
  readonly trail: readonly string[]
  /** Its own text, without the sections below it. */
  readonly text: string
  /** Where it is in the document, with its heading and the sections below it. */
  readonly start: number
  readonly end: number
  /** The targets of its wiki links, as written. */
  readonly links: readonly string[]
}

export function splitSections({ text, kind }: ExtractedText): readonly Section[] {
  return kind === "markdown" ? splitAtHeadings(text) : splitIntoParts(text, kind === "table")
}

interface Heading {
  readonly level: number
  readonly title: string
  readonly start: number
  /** After its line. */
  readonly body: number
}

function splitAtHeadings(text: string): readonly Section[] {
  const headings = headingsOf(text)
  const slug = uniqueSlugs()
  const first = headings[0]?.start ?? text.length
  const before: Section[] = /\S/.test(text.slice(0, first)) ? [preamble(text.slice(0, first))] : []
  const above: Heading[] = []
  const ends = endsOf(headings, text.length)
  return before.concat(
    headings.map((heading, index): Section => {
      while ((above.at(-1)?.level ?? 0) >= heading.level) above.pop()
      const trail = above.map(({ title }) => title)
      above.push(heading)
      const own = text.slice(heading.body, headings[index + 1]?.start ?? text.length).trim()
      return {
        slug: slug(heading.title),
        title: heading.title,
        trail,
        text: own,
        start: heading.start,
        end: ends[index] ?? text.length,
        links: linksOf(own),
      }
    }),
  )
}

function preamble(text: string): Section {
  return { slug: "", title: "", trail: [], text: text.trim(), start: 0, end: text.length, links: linksOf(text) }
}

/** A section ends where the next heading of its level, or of a higher one, starts. */
function endsOf(headings: readonly Heading[], length: number): readonly number[] {
  const ends = headings.map(() => length)
  const open: number[] = []
  for (const [index, { level, start }] of headings.entries()) {
    for (let last = open.at(-1); last !== undefined && (headings[last]?.level ?? 0) >= level; last = open.at(-1)) {
      ends[last] = start
      open.pop()
    }
    open.push(index)
  }
  return ends
}

/** Lines in code fences and in the front matter are never headings. */
function headingsOf(text: string): readonly Heading[] {
  const headings: Heading[] = []
  let fence: string | undefined
  let previous: { readonly line: string; readonly start: number } | undefined
  const first = afterFrontMatter(text)
  for (let start = first; start < text.length; ) {
    const end = text.indexOf("\n", start)
    const next = end === -1 ? text.length : end + 1
    const line = text.slice(start, end === -1 ? text.length : end).trimEnd()
    const mark = fenceOf(line)
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined
      previous = undefined
    } else if (mark !== undefined) {
      fence = mark
      previous = undefined
    } else {
      const [, marks, title = ""] = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/.exec(line) ?? []
      const under = previous && /^ {0,3}(=+|-+)$/.exec(line)?.[1]
      if (marks !== undefined) headings.push({ level: marks.length, title: plainTitle(title), start, body: next })
      else if (previous && under) {
        const level = under.startsWith("=") ? 1 : 2
        headings.push({ level, title: plainTitle(previous.line), start: previous.start, body: next })
      }
      previous = marks === undefined && !under && isParagraph(line) ? { line, start } : undefined
    }
    start = next
  }
  return headings
}

/** The marks that open or close a code fence. */
function fenceOf(line: string): string | undefined {
  const [whole = "", mark] = /^\s*(`{3,}|~{3,})/.exec(line) ?? []
  // Code in a line, such as ```a```.
  return mark?.startsWith("`") && line.includes("`", whole.length) ? undefined : mark
}

function afterFrontMatter(text: string): number {
  if (!/^---[ \t]*\r?\n/.test(text)) return 0
  const end = /\n---[ \t]*(?:\r?\n|$)/g
  end.lastIndex = 3
  return end.exec(text) === null ? 0 : end.lastIndex
}

/** False for lines that a row of hyphens below does not make a heading. */
function isParagraph(line: string): boolean {
  return /\S/.test(line) && !/^(?: {4}|\t|\s*(?:[-*+>|]|\d+[.)])\s)|\|/.test(line)
}

/** A heading without its marks: closing number signs, emphasis, links. */
function plainTitle(title: string): string {
  return firstWords(title, MAX_TITLE_LENGTH)
    .replace(/\s#+\s*$/, "")
    .replace(/\[\[([^[\]|]{1,200})(?:\|([^[\]]{1,200}))?\]\]/g, (_, target: string, alias?: string) => alias ?? target)
    .replace(/\[([^[\]]{0,300})\]\([^()]{0,1000}\)/g, "$1")
    .replace(/[*`]/g, "")
    .trim()
}

function linksOf(text: string): readonly string[] {
  const targets = Array.from(text.matchAll(/\[\[([^[\]|\n]{1,200})(?:\|[^[\]\n]{0,200})?\]\]/g), ([, target = ""]) =>
    target.trim(),
  )
  return [...new Set(targets)].slice(0, MAX_LINKS)
}

function splitIntoParts(text: string, isTable: boolean): readonly Section[] {
  const head = isTable ? text.slice(0, Math.min(lineEnd(text, 0), MAX_HEAD_LENGTH)) : ""
  const sections: Section[] = []
  for (let start = 0; start < text.length; ) {
    const end = lineEnd(text, Math.min(start + PART - 1, text.length))
    // Between words: half a secret at the end of a part would not be recognised.
    const stop = end - start > 2 * PART ? start + withoutHalfWord(text.slice(start, start + PART)).length : end
    const own = text.slice(start, stop)
    const number = sections.length + 1
    sections.push({
      slug: `part-${number}`,
      title: "",
      trail: [],
      text: start === 0 ? own : head + own,
      start,
      end: stop,
      links: [],
    })
    start = stop
  }
  // One part is the whole file.
  return sections.length === 1 ? sections.map((section) => ({ ...section, slug: "" })) : sections
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from)
  return end === -1 ? text.length : end + 1
}

const PART = 4000
const MAX_HEAD_LENGTH = 1000
const MAX_TITLE_LENGTH = 500
const MAX_LINKS = 20
