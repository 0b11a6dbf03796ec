import type { Files } from "../../contract/env.ts"
import { type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { compileOrRefuse, filesOf, onOneLine, skippedFolders } from "../shared.ts"
import { compileGlob } from "./glob.ts"
import { globUses } from "./uses.ts"
import { batchesOf, filesBelow } from "./walk.ts"

/** Glob: files whose path matches a pattern. */
export function globTool(): Tool {
  return defineTool({
    name: "Glob",
    description:
      "Finds files by name or path, newest first. One path per line. Supports *, ?, **, [abc] and {a,b}; a pattern " +
      "without a slash matches names at any depth. Skips files ignored by .gitignore and .ignore, .git, node_modules and " +
      "links. The last line shows how many more there are.",
    uses: globUses,
    effect: "none",
    inputSchema: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, description: "For example *.ts or src/**/*.{js,ts}" },
        path: {
          type: "string",
          minLength: 1,
          default: ".",
          description: "The folder to search, including its subfolders.",
        },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: 10_000,
          default: 500,
          description: "Maximum number of paths to print.",
        },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    run: glob,
  })
}

interface GlobArgs {
  readonly pattern: string
  readonly path: string
  readonly limit: number
}

async function glob({ pattern, path, limit }: GlobArgs, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const wanted = await compileOrRefuse("pattern", () => compileGlob(pattern))
  const found: { readonly path: string; readonly modifiedMs: number }[] = []
  const candidates = filesBelow(path, { files, context, wanted, skippedFolders, ignoreFiles: true })
  for await (const batch of batchesOf(candidates, LOOKED_AT_ONCE)) {
    const times = await Promise.all(batch.map((each) => modifiedMs(files, each, context)))
    for (const [index, each] of batch.entries()) found.push({ path: each, modifiedMs: times[index] ?? 0 })
    if (found.length >= MAX_FILES) break
  }
  if (found.length === 0) return "No files found."
  // Equal times are ordered by name, so that the result is deterministic.
  found.sort((left, right) => right.modifiedMs - left.modifiedMs || (left.path < right.path ? -1 : 1))
  const lines = found.slice(0, limit).map((each) => onOneLine(each.path))
  if (found.length > limit) lines.push(`[${found.length - limit} more; narrow the pattern or raise limit]`)
  return lines.join("\n")
}

/** A file may disappear while others are read. */
async function modifiedMs(files: Files, path: string, context: ToolContext): Promise<number> {
  try {
    return (await files.info(path, context.cwd)).modifiedMs
  } catch (error) {
    if (error instanceof ToolError) return 0
    throw error
  }
}

const LOOKED_AT_ONCE = 16
const MAX_FILES = 50_000
