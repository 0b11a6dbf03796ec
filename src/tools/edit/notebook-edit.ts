import { type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { decodeText, encodeText } from "../../lib/text-file.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { filesOf, stopIfAborted } from "../shared.ts"
import {
  type CellType,
  changedCell,
  deleteCell,
  insertCell,
  type Notebook,
  newCell,
  readNotebook,
  replaceCell,
} from "./notebook.ts"
import { editUses } from "./uses.ts"

/** NotebookEdit: replaces, inserts or deletes a cell of a Jupyter notebook. */
export function notebookEditTool(): Tool {
  return defineTool({
    name: "NotebookEdit",
    description:
      "Edits one cell of a Jupyter notebook (.ipynb, nbformat 4): replaces its source, inserts a new cell before it, or " +
      "deletes it. Select the cell by its index, counted from 0, or by its id; an insert without either appends to the end. A " +
      "code cell whose source is replaced loses its outputs. The rest of the file is unchanged.",
    uses: editUses,
    effect: "once",
    inputSchema: {
      type: "object",
      properties: {
        path: {
          type: "string",
          minLength: 1,
          description: "The notebook, relative to the working directory or absolute.",
        },
        action: { type: "string", enum: ["replace", "insert", "delete"], default: "replace" },
        cellIndex: { type: "integer", minimum: 0, description: "Index of the cell, counted from 0." },
        cellId: { type: "string", minLength: 1, description: "Id of the cell, instead of cellIndex." },
        source: { type: "string", description: "The complete new source of the cell; not for delete." },
        cellType: {
          type: "string",
          enum: ["code", "markdown", "raw"],
          description: "Default: code for an inserted cell, otherwise the cell's current type.",
        },
      },
      required: ["path"],
      additionalProperties: false,
    },
    run: notebookEdit,
  })
}

interface NotebookEditArgs {
  readonly path: string
  readonly action: "replace" | "insert" | "delete"
  readonly cellIndex?: number
  readonly cellId?: string
  readonly source?: string
  readonly cellType?: CellType
}

async function notebookEdit(args: NotebookEditArgs, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const name = files.display(args.path, context.cwd)
  if (!name.toLowerCase().endsWith(".ipynb")) {
    throw new ToolError("invalid_input", `${name} is not an .ipynb file: use Edit for other files.`)
  }
  stopIfAborted(context)
  let done = ""
  await files.update(args.path, context.cwd, (bytes) => {
    const file = decodeText(bytes)
    if (file === undefined || !file.encoding.startsWith("utf-8")) {
      throw new ToolError("invalid_input", `${name} is not UTF-8 text.`)
    }
    const edited = edit(readNotebook(file.text, name), args)
    done = edited.done
    // UTF-8 can represent everything that was read as UTF-8.
    return encodeText({ text: edited.text, encoding: file.encoding }) ?? bytes
  })
  return `${done} in ${name}.`
}

function edit(notebook: Notebook, args: NotebookEditArgs): { readonly text: string; readonly done: string } {
  const { action, source, cellType } = args
  const index = indexOf(notebook, args)
  if (action === "delete") {
    if (source !== undefined) throw new ToolError("invalid_input", "Deleting a cell takes no source.")
    return { text: deleteCell(notebook, index), done: `Deleted cell ${index}` }
  }
  if (source === undefined) throw new ToolError("invalid_input", `To ${action} a cell, pass its source.`)
  if (action === "insert") {
    const id = notebook.hasIds ? newNonce().slice(0, 8) : undefined
    const text = insertCell(notebook, index, newCell(source, cellType ?? "code", id))
    return { text, done: `Inserted cell ${index}${id === undefined ? "" : ` with the id ${id}`}` }
  }
  const before = notebook.cells[index]?.content ?? {}
  // Safe: a notebook with another type was rejected when it was read.
  const type = cellType ?? (before.cell_type as CellType)
  return { text: replaceCell(notebook, index, changedCell(before, source, type)), done: `Replaced cell ${index}` }
}

/** For an insert, the index of the new cell; else of an existing cell. */
function indexOf({ cells }: Notebook, { action, cellIndex, cellId }: NotebookEditArgs): number {
  if (cellIndex !== undefined && cellId !== undefined) {
    throw new ToolError("invalid_input", "Pass cellIndex or cellId, not both.")
  }
  if (cellId !== undefined) {
    const found = cells.flatMap(({ content }, index) => (content.id === cellId ? [index] : []))
    const [index] = found
    if (index === undefined) throw new ToolError("not_found", `No cell has the id ${JSON.stringify(cellId)}.`)
    if (found.length > 1) throw new ToolError("conflict", `${found.length} cells have this id: use cellIndex.`)
    return index
  }
  if (cellIndex === undefined) {
    if (action === "insert") return cells.length
    throw new ToolError("invalid_input", `To ${action} a cell, pass its cellIndex or cellId.`)
  }
  const count = action === "insert" ? cells.length + 1 : cells.length
  if (cellIndex >= count) {
    throw new ToolError(
      "not_found",
      `Cell ${cellIndex} does not exist: the notebook has ${cells.length} cells, counted from 0.`,
    )
  }
  return cellIndex
}
