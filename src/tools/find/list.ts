import type { FileEntry } from "../../contract/env.ts"
import type { Tool, ToolContext } from "../../contract/tool.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { byName, filesOf, onOneLine } from "../shared.ts"
import { searchUses } from "./uses.ts"

/** List: the entries of a folder. */
export function listTool(): Tool {
  return defineTool({
    name: "List",
    description:
      "Lists one folder without its subfolders' content. One entry per line, sorted by name; folders end with /, " +
      `links with " (link)". At most ${maxEntries} entries; the last line shows how many more there are.`,
    uses: searchUses,
    effect: "none",
    inputSchema: {
      type: "object",
      properties: {
        path: {
          type: "string",
          minLength: 1,
          default: ".",
          description: "The folder, relative to the working directory or absolute.",
        },
      },
      additionalProperties: false,
    },
    run: list,
  })
}

const maxEntries = 1000

async function list({ path }: { readonly path: string }, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const entries = [...(await files.list(path, context.cwd))].sort(byName)
  if (entries.length === 0) return `${files.display(path, context.cwd)} is an empty folder.`
  const lines = entries.slice(0, maxEntries).map((entry) => onOneLine(entry.name) + suffixes[entry.kind])
  if (entries.length > maxEntries) lines.push(`… ${entries.length - maxEntries} more`)
  return lines.join("\n")
}

const suffixes: Readonly<Record<FileEntry["kind"], string>> = {
  file: "",
  folder: "/",
  link: " (link)",
  other: " (neither file nor folder)",
}
