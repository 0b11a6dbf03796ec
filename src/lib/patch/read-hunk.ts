import { type Hunk, type HunkLine, type LineEnd, malformed, shown } from "./file-patch.ts"

export interface HunkBody extends Pick<Hunk, "lines" | "atEnd" | "finalNewline"> {
  /** The first line after the hunk. */
  readonly next: number
}

/**
 * Reads a hunk's lines until one that ends it. The prefixes decide which lines belong to it, whatever the header
 * counts.
 */
export function readHunkBody(
  patch: readonly string[],
  from: number,
  ends: (line: string, at: number) => boolean,
): HunkBody {
  const lines: HunkLine[] = []
  const openEnds = new Set<HunkLine["kind"] | undefined>()
  let at = from
  /** After the last line with a prefix: trailing empty lines only separate hunks. */
  let length = 0
  for (let line = patch[at]; line !== undefined && !ends(line, at); line = patch[++at]) {
    const kind = kinds[line.charAt(0)]
    if (kind !== undefined) {
      lines.push({ kind, ...withoutEnd(line.slice(1)) })
      length = lines.length
    } else if (line.startsWith("\\")) openEnds.add(lines.at(-1)?.kind)
    else if (line.trim() === "") lines.push({ kind: "keep", text: "" })
    else throw malformed(`Line ${at + 1} of the patch, ${shown(line)}, must start with a space, "+" or "-".`)
  }
  const finalNewline = openEnds.has("add") ? false : openEnds.has("remove") ? true : undefined
  return {
    lines: lines.slice(0, length),
    atEnd: openEnds.has("remove") || openEnds.has("keep"),
    finalNewline,
    next: at,
  }
}

const kinds: Readonly<Record<string, HunkLine["kind"]>> = { " ": "keep", "-": "remove", "+": "add" }

function withoutEnd(line: string): { text: string; end?: LineEnd } {
  return line.endsWith("\r") ? { text: line.slice(0, -1), end: "\r\n" } : { text: line }
}

/**
 * If one line of a file's hunks ends in CRLF, the differences are intended. Otherwise the file's own line endings
 * apply.
 */
export function withLineEnds(hunks: readonly Hunk[]): readonly Hunk[] {
  if (!hunks.some(({ lines }) => lines.some(({ end }) => end !== undefined))) return hunks
  return hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map((line) => ({ ...line, end: line.end ?? "\n" })) }))
}

/** `@@ -12,3 +12,4 @@`, with or without the text that git adds. */
export function numbersIn(header: string): { readonly line: number; readonly oldCount: number } | undefined {
  const [, line, count] = /^@@\s*-(\d+)(?:,(\d+))?\s+\+\d+(?:,\d+)?\s*@@/.exec(header) ?? []
  return line === undefined ? undefined : { line: Number(line), oldCount: count === undefined ? 1 : Number(count) }
}

/** The line that `@@ line` or `@@ line @@` locates before the hunk. */
export function anchorIn(header: string): string | undefined {
  if (numbersIn(header) !== undefined) return undefined
  const line = header.slice(2).trimEnd().replace(/^ /, "")
  const anchor = line.endsWith("@@") ? line.slice(0, -2).trimEnd() : line
  // Some write an ellipsis for omitted text.
  return /^[\s.\u2026]*$/.test(anchor) ? undefined : anchor
}

/** A hunk made of its parts, or an error if they are invalid. */
export function toHunk(
  body: HunkBody,
  numbers: ReturnType<typeof numbersIn>,
  anchors: readonly string[],
  path: string,
): Hunk {
  const { lines, atEnd, finalNewline } = body
  const isInsertion = lines.every(({ kind }) => kind === "add")
  if (lines.every(({ kind }) => kind === "keep")) {
    throw malformed(`${path}: a hunk before line ${body.next + 1} of the patch adds and removes nothing.`)
  }
  if (isInsertion && numbers !== undefined && numbers.oldCount > 0) {
    throw malformed(
      `${path}: the hunk that adds ${shown(lines[0]?.text ?? "")} has no existing lines. Add some around it.`,
    )
  }
  return {
    anchors,
    lines,
    atEnd,
    line: numbers?.line,
    finalNewline,
  }
}
