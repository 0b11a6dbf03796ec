import { ToolError } from "../../contract/tool.ts"

/** The changes of a patch to one file. */
export type FilePatch = AddPatch | DeletePatch | UpdatePatch

interface AnyPatch {
  readonly path: string
  /** Requests that cannot be fulfilled, for the result. */
  readonly remark?: string
}

export interface AddPatch extends AnyPatch {
  readonly kind: "add"
  readonly content: string
}

export interface DeletePatch extends AnyPatch {
  readonly kind: "delete"
  /** The content as the patch knows it; absent if it has none. */
  readonly hunks: readonly Hunk[]
}

export interface UpdatePatch extends AnyPatch {
  readonly kind: "update"
  readonly hunks: readonly Hunk[]
  /** The file's other name, used if the first one does not exist. */
  readonly otherPath?: string
  /** The new path; with `copy` the old one stays as well. */
  readonly moveTo?: string | undefined
  readonly copy?: boolean
}

/** A group of adjacent lines and their changes. */
export interface Hunk {
  /** Lines that occur before it, in this order. */
  readonly anchors: readonly string[]
  readonly lines: readonly HunkLine[]
  /** The stated position: its first line, from 1; without old lines, the line after which it is inserted. */
  readonly line?: number | undefined
  /** It is at the end of the file. */
  readonly atEnd: boolean
  /** The final newline according to the patch; absent: not stated. */
  readonly finalNewline?: boolean | undefined
}

export interface HunkLine {
  readonly kind: "keep" | "remove" | "add"
  readonly text: string
  /** Only if the patch distinguishes them. */
  readonly end?: LineEnd
}

export type LineEnd = "\n" | "\r\n"

/** The lines that a hunk expects. */
export function oldLines({ lines }: Hunk): string[] {
  return lines.filter(({ kind }) => kind !== "add").map(({ text }) => text)
}

export function malformed(message: string): ToolError {
  return new ToolError("invalid_input", message)
}

/** A line of the patch for an error message. */
export function shown(line: string): string {
  const text = line.trimEnd()
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
