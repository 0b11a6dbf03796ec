import { ToolError } from "../../contract/tool.ts"

/** What a patch does to one file. */
export type FilePatch = AddPatch | DeletePatch | UpdatePatch

interface AnyPatch {
  readonly path: string
  /** What was asked for and cannot be done, for the result. */
  readonly remark?: string
}

export interface AddPatch extends AnyPatch {
  readonly kind: "add"
  readonly content: string
}

export interface DeletePatch extends AnyPatch {
  readonly kind: "delete"
  /** The content as the patch knows it; none where it says nothing of it. */
  readonly hunks: readonly Hunk[]
}

export interface UpdatePatch extends AnyPatch {
  readonly kind: "update"
  readonly hunks: readonly Hunk[]
  /** The file's other name, where the first one is nobody's. */
  readonly otherPath?: string
  /** Where it goes; with `copy` it stays as well. */
  readonly moveTo?: string
  readonly copy?: boolean
}

/** Lines that stand together, and what becomes of them. */
export interface Hunk {
  /** Lines that stand somewhere before it, each behind the one before it. */
  readonly anchors: readonly string[]
  readonly lines: readonly HunkLine[]
  /** Where the patch believes it is: its first line, from 1; without old lines, the line behind which it goes. */
  readonly line?: number
  /** It is the end of the file. */
  readonly atEnd: boolean
  /** What the patch says of the file's last line end; absent: nothing. */
  readonly finalNewline?: boolean
}

export interface HunkLine {
  readonly kind: "keep" | "remove" | "add"
  readonly text: string
  /** Only where the patch tells one from the other. */
  readonly end?: LineEnd
}

export type LineEnd = "\n" | "\r\n"

/** What a hunk takes to be there. */
export function oldLines({ lines }: Hunk): string[] {
  return lines.filter(({ kind }) => kind !== "add").map(({ text }) => text)
}

export function malformed(message: string): ToolError {
  return new ToolError("invalid_input", message)
}

/** A line of the patch, as an error shows it. */
export function shown(line: string): string {
  const text = line.trimEnd()
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
