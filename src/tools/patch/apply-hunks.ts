import { ToolError } from "../../contract/tool.ts"
import { type Hunk, malformed, oldLines, shown } from "../../lib/patch/file-patch.ts"
import type { Redact } from "../../lib/text/before-cut.ts"
import { closestLines } from "../edit/closest-lines.ts"
import { createLineSearch, type LineSearch } from "./find-lines.ts"

/** A line of a file with its line ending; the last line may have none. */
interface Line {
  readonly text: string
  readonly end: string
}

/** Applies hunks in order. Unchanged lines stay as in the file, not as in the hunk. `name`: as displayed. `redact`: for errors. */
export function applyHunks(text: string, hunks: readonly Hunk[], name: string, redact: Redact): string {
  const lines = splitLines(text)
  const search = createLineSearch(lines.map((line) => line.text))
  const placed: { readonly hunk: Hunk; readonly start: number }[] = []
  let from = 0
  let offset = 0
  for (const [index, hunk] of hunks.entries()) {
    const which = hunks.length === 1 ? `${name}: ` : `${name}, hunk ${index + 1} of ${hunks.length}: `
    const start = placeOf(hunk, { text, lines, search, from, offset, which, redact })
    placed.push({ hunk, start })
    const wanted = oldLines(hunk)
    if (hunk.line !== undefined && wanted.length > 0) offset = start - (hunk.line - 1)
    // An addition at the end may come before the others.
    if (wanted.length > 0 || start < lines.length) from = start + wanted.length
  }
  return change(
    lines,
    placed.sort((left, right) => left.start - right.start),
  )
}

function change(lines: readonly Line[], placed: readonly { readonly hunk: Hunk; readonly start: number }[]): string {
  const result: Line[] = []
  let finalNewline = lines.length === 0 || lines.at(-1)?.end !== ""
  let at = 0
  for (const { hunk, start } of placed) {
    for (const line of lines.slice(at, start)) result.push(line)
    at = start
    for (const line of hunk.lines) {
      if (line.kind === "add") result.push({ text: line.text, end: line.end ?? endAround(lines, at) })
      else {
        const old = lines[at++]
        if (line.kind === "keep" && old) result.push(old)
      }
    }
    if (at >= lines.length) finalNewline = hunk.finalNewline ?? finalNewline
  }
  return joinLines(result.concat(lines.slice(at)), finalNewline, endAround(lines, lines.length))
}

interface Place {
  readonly text: string
  readonly lines: readonly Line[]
  readonly search: LineSearch
  readonly from: number
  /** Offset of the previous hunk from its stated position. */
  readonly offset: number
  readonly which: string
  readonly redact: Redact
}

function placeOf(hunk: Hunk, place: Place): number {
  const { search, which } = place
  const wanted = oldLines(hunk)
  const from = behindAnchors(hunk, wanted, place)
  if (wanted.length === 0) return insertionPlace(hunk, from, place)
  const near = hunk.line === undefined ? undefined : hunk.line - 1 + place.offset
  const options = { from, atEnd: hunk.atEnd, ...(near !== undefined && { near }) }
  const found = search(wanted, options) ?? atVeryEnd(hunk, wanted, { ...place, from })
  if (found !== undefined) return found
  throw new ToolError("not_found", `${which}${whyNowhere(hunk, wanted, { ...place, from })}`)
}

function whyNowhere({ lines: hunk }: Hunk, wanted: readonly string[], { text, search, from, redact }: Place): string {
  const sought = `the lines ${wanted
    .slice(0, 3)
    .map((line) => shown(redact(line)))
    .join(", ")}${wanted.length > 3 ? " …" : ""}`
  const earlier = search(wanted, { from: 0 })
  if (earlier !== undefined) {
    const where = `only at line ${earlier + 1}, before the hunk or the "@@" line ahead of them`
    return `${sought} are ${where}. Order hunks as in the file.`
  }
  const made = hunk.filter(({ kind }) => kind !== "remove").map((line) => line.text)
  const done = made.length > 1 ? search(made, { from }) : undefined
  const where = from > 0 ? ` from line ${from + 1} on` : ""
  const already = done === undefined ? "" : ` The result of the hunk is already at line ${done + 1}.`
  const hint = closestLines(text, wanted.join("\n"), redact)
  return `${sought} are not in the file${where}.${already}${hint === "" ? "" : `\n${hint}`}`
}

/** A hunk may end in an empty line that is only the end of the file. */
function atVeryEnd(
  { lines }: Hunk,
  wanted: readonly string[],
  { lines: file, search, from }: Place,
): number | undefined {
  const last = lines.at(-1)
  if (last?.kind !== "keep" || last.text.trim() !== "" || wanted.length < 2) return undefined
  return search(wanted.slice(0, -1), { from: Math.max(from, file.length - wanted.length + 1) })
}

/** Where the search starts: after the previous hunk, and after the lines named for it. */
function behindAnchors(
  { anchors }: Hunk,
  wanted: readonly string[],
  { text, search, from, which, redact }: Place,
): number {
  let behind = from
  for (const [index, anchor] of anchors.entries()) {
    const at = search([anchor], { from: behind })
    if (at === undefined) {
      const hint = closestLines(text, anchor, redact)
      const where = `is not in the file${behind > 0 ? ` from line ${behind + 1} on` : ""}`
      throw new ToolError(
        "not_found",
        `${which}the line ${shown(redact(anchor))} after "@@" ${where}.${hint && `\n${hint}`}`,
      )
    }
    const isRepeated = index === anchors.length - 1 && wanted[0]?.trim() === anchor.trim()
    behind = isRepeated ? at : at + 1
  }
  return behind
}

function insertionPlace({ anchors, line, atEnd }: Hunk, from: number, { lines, which }: Place): number {
  if (atEnd || (line === undefined && anchors.length === 0)) return lines.length
  if (line === undefined || anchors.length > 0) return from
  if (line > lines.length) throw malformed(`${which}it adds lines after line ${line}; the file has ${lines.length}.`)
  if (line < from) throw malformed(`${which}it adds lines after line ${line}, before the end of the previous hunk.`)
  return line
}

function splitLines(text: string): readonly Line[] {
  const lines: Line[] = []
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at)
    const next = newline === -1 ? text.length : newline + 1
    const end = newline === -1 ? "" : text[newline - 1] === "\r" && newline > at ? "\r\n" : "\n"
    lines.push({ text: text.slice(at, next - end.length), end })
    at = next
  }
  return lines
}

/** The line ending used around a position. */
function endAround(lines: readonly Line[], at: number): string {
  return lines[at - 1]?.end || lines[at]?.end || lines[0]?.end || "\n"
}

function joinLines(lines: readonly Line[], finalNewline: boolean, end: string): string {
  const last = lines.length - 1
  return lines.map((line, index) => line.text + (index === last && !finalNewline ? "" : line.end || end)).join("")
}
