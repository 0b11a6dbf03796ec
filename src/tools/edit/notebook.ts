import type { JsonObject } from "../../contract/json.ts"
import { ToolError } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import { elementSpans, type JsonSpan, memberSpans } from "./json-spans.ts"

export type CellType = "code" | "markdown" | "raw"

/** The text of a Jupyter notebook, and the positions of its cells. */
export interface Notebook {
  readonly text: string
  readonly cells: readonly NotebookCell[]
  /** The whole array, including its brackets. */
  readonly cellsSpan: JsonSpan
  /** Since version 4.5 every cell has an id. */
  readonly hasIds: boolean
}

export interface NotebookCell {
  readonly span: JsonSpan
  readonly content: JsonObject
}

/** Checks the structure that an edit relies on. `name`: the file as displayed. */
export function readNotebook(text: string, name: string): Notebook {
  const refuse = (why: string) => new ToolError("invalid_input", `${name} is not a notebook: ${why}.`)
  let notebook: unknown
  try {
    notebook = JSON.parse(text)
  } catch {
    throw refuse("it is not JSON")
  }
  if (!isJsonObject(notebook)) throw refuse("it is not a JSON object")
  const { nbformat, nbformat_minor: minor, cells } = notebook
  if (nbformat !== 4) throw refuse(`its nbformat is ${JSON.stringify(nbformat) ?? "missing"}; only 4 can be edited`)
  if (typeof minor !== "number" || !Number.isInteger(minor)) throw refuse("its nbformat_minor is not a whole number")
  const span = memberSpans(text, 0).get("cells")
  if (!Array.isArray(cells) || span === undefined) throw refuse("it has no list of cells")
  const spans = elementSpans(text, span.start)
  return {
    text,
    cellsSpan: span,
    hasIds: minor >= 5,
    cells: spans.map((each, index) => ({
      span: each,
      content: readCell(cells[index], (why) => refuse(`cell ${index} ${why}`)),
    })),
  }
}

function readCell(cell: unknown, refuse: (why: string) => ToolError): JsonObject {
  if (!isJsonObject(cell)) throw refuse("is not an object")
  if (!isCellType(cell.cell_type)) throw refuse(`has the type ${JSON.stringify(cell.cell_type)}`)
  const { source } = cell
  const isSource =
    typeof source === "string" || (Array.isArray(source) && source.every((line) => typeof line === "string"))
  if (!isSource) throw refuse("has no source")
  return cell
}

function isCellType(value: unknown): value is CellType {
  return value === "code" || value === "markdown" || value === "raw"
}

/** The cell with a new source and type. Outputs are removed with the old source. */
export function changedCell(cell: JsonObject, source: string, type: CellType): JsonObject {
  // Each type has members that others must not have.
  const { outputs: _outputs, execution_count: _count, attachments, ...common } = cell
  const written = typeof cell.source === "string" ? source : linesOf(source)
  if (type !== "code") return { ...common, ...(attachments && { attachments }), cell_type: type, source: written }
  const isCode = cell.cell_type === "code"
  return { ...(isCode ? cell : common), cell_type: type, execution_count: null, outputs: [], source: written }
}

export function newCell(source: string, type: CellType, id: string | undefined): JsonObject {
  return {
    cell_type: type,
    ...(type === "code" && { execution_count: null }),
    ...(id !== undefined && { id }),
    metadata: {},
    ...(type === "code" && { outputs: [] }),
    source: linesOf(source),
  }
}

/** As Jupyter writes it: each line with its line ending. */
function linesOf(source: string): string[] {
  return source.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

export function replaceCell(notebook: Notebook, index: number, cell: JsonObject): string {
  const { start, end } = spanAt(notebook, index)
  return splice(notebook.text, start, end, writtenCell(notebook, cell))
}

/** Inserts before the cell at `index`, or after the last one. Every byte of the other cells stays. */
export function insertCell(notebook: Notebook, index: number, cell: JsonObject): string {
  const { text, cells, cellsSpan } = notebook
  const written = writtenCell(notebook, cell)
  const [first] = cells
  if (first === undefined) {
    const { unit, lineEnd } = layoutOf(text)
    const [before, after] = unit === "" ? ["", ""] : [lineEnd + unit.repeat(2), lineEnd + unit]
    return splice(text, cellsSpan.start + 1, cellsSpan.end - 1, before + written + after)
  }
  // The text between the bracket and the first cell also separates any two cells.
  const space = text.slice(cellsSpan.start + 1, first.span.start)
  if (index < cells.length) {
    const { start } = spanAt(notebook, index)
    return splice(text, start, start, `${written},${space}`)
  }
  const { end } = spanAt(notebook, cells.length - 1)
  return splice(text, end, end, `,${space}${written}`)
}

export function deleteCell(notebook: Notebook, index: number): string {
  const { text, cells, cellsSpan } = notebook
  const [next, previous] = [cells[index + 1], cells[index - 1]]
  const { start, end } = spanAt(notebook, index)
  if (next !== undefined) return splice(text, start, next.span.start, "")
  if (previous !== undefined) return splice(text, previous.span.end, end, "")
  return splice(text, cellsSpan.start + 1, cellsSpan.end - 1, "")
}

function spanAt({ cells }: Notebook, index: number): JsonSpan {
  const cell = cells[index]
  if (cell === undefined) throw new ToolError("not_found", `Cell ${index} does not exist; there are ${cells.length}.`)
  return cell.span
}

/** Indented as the notebook is: its cells are two levels deep. */
function writtenCell({ text }: Notebook, cell: JsonObject): string {
  const { unit, lineEnd } = layoutOf(text)
  if (unit === "") return JSON.stringify(cell)
  return JSON.stringify(cell, null, unit).replaceAll("\n", lineEnd + unit.repeat(2))
}

/** Without a unit, everything is on one line. */
function layoutOf(text: string): { readonly unit: string; readonly lineEnd: string } {
  const [, lineEnd = "\n", unit = ""] = /^\s*\{(\r?\n)([ \t]*)/.exec(text) ?? []
  return { unit: unit.slice(0, 10), lineEnd }
}

function splice(text: string, start: number, end: number, inserted: string): string {
  return text.slice(0, start) + inserted + text.slice(end)
}
