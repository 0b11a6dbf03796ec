import type { Files } from "../contract/env.ts"
import { type Tool, type ToolContext, ToolError } from "../contract/tool.ts"
import { defineTool } from "../lib/define-tool.ts"
import { compileLinearPattern, type LinearPattern } from "../lib/linear-pattern.ts"
import { truncateUtf8 } from "../lib/truncate.ts"
import { compileGlob } from "./glob.ts"
import { compileOrRefuse, filesOf, onOneLine, skippedFolders, stopIfAborted } from "./shared.ts"
import { batchesOf, filesBelow } from "./walk.ts"

export function grepTool(): Tool {
  return defineTool({
    name: "Grep",
    description:
      "Searches text files, line by line, for a regular expression. Prints path:line:text for each matching line, " +
      "in the order of the paths. JavaScript syntax without backreferences, lookahead and lookbehind. Leaves out " +
      "what .gitignore and .ignore name, .git, node_modules, links, binary files and files over 5 MB. Searches the first 5,000 characters of a line " +
      "and prints the first 500.",
    effect: "none",
    input: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, description: "The regular expression, e.g. function\\s+\\w+" },
        path: {
          type: "string",
          minLength: 1,
          default: ".",
          description: "A folder, searched with all below it, or a file.",
        },
        glob: { type: "string", minLength: 1, description: "Only files like this, e.g. *.ts or src/**/*.{js,ts}" },
        ignoreCase: { type: "boolean", default: false },
        limit: { type: "integer", minimum: 1, maximum: 10_000, default: 200, description: "The most lines to print." },
      },
      required: ["pattern"],
      additionalProperties: false,
    },
    run: grep,
  })
}

interface GrepArgs {
  readonly pattern: string
  readonly path: string
  readonly glob?: string
  readonly ignoreCase: boolean
  readonly limit: number
}

const maxFileBytes = 5 * 1024 * 1024
const maxFiles = 50_000
const maxSearchedCharacters = 5000
const maxShownCharacters = 500
/** Files read at once, while the search goes through them in order. */
const readAhead = 8

async function grep(args: GrepArgs, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const search: Search = {
    pattern: compileOrRefuse("pattern", () => compileLinearPattern(args.pattern, { ignoreCase: args.ignoreCase })),
    limit: args.limit,
    lines: [],
    charactersSinceYield: 0,
    stepsAtYield: 0,
  }
  const wanted = compileOrRefuse("glob", () => compileGlob(args.glob ?? "**"))

  let searched = 0
  let unreadable = 0
  const candidates = filesBelow(args.path, { files, context, wanted, skippedFolders, ignoreFiles: true })
  for await (const batch of batchesOf(candidates, readAhead)) {
    const texts = await Promise.all(batch.map((path) => readText(files, path, context)))
    for (const [index, path] of batch.entries()) {
      stopIfAborted(context)
      const text = texts[index]
      if (text === undefined) unreadable++
      else if (text !== "") await searchText(search, path, text)
      if (search.lines.length > args.limit) return report(search, unreadable)
    }
    searched += batch.length
    if (searched >= maxFiles) {
      return `${report(search, unreadable)}\n[stopped after ${maxFiles} files; narrow path or glob]`
    }
  }
  return report(search, unreadable)
}

interface Search {
  readonly pattern: LinearPattern
  readonly limit: number
  readonly lines: string[]
  charactersSinceYield: number
  stepsAtYield: number
}

async function searchText(search: Search, path: string, text: string): Promise<void> {
  let number = 0
  for (let start = 0; start < text.length; ) {
    number++
    const lineBreak = text.indexOf("\n", start)
    const next = lineBreak === -1 ? text.length : lineBreak + 1
    let end = lineBreak === -1 ? text.length : lineBreak
    if (end > start && text.charCodeAt(end - 1) === 0x0d) end--
    const searchedEnd = Math.min(end, start + maxSearchedCharacters)
    if (search.pattern.test(text, start, searchedEnd)) {
      search.lines.push(`${onOneLine(path)}:${number}:${shownLine(text.slice(start, end))}`)
      // One more than asked for, which tells that there are more.
      if (search.lines.length > search.limit) return
    }
    search.charactersSinceYield += searchedEnd - start + 1
    if (isDueToYield(search)) await yieldToOthers(search)
    start = next
  }
}

/** About ten milliseconds of work, by characters and by what the pattern had to work out. */
function isDueToYield({ charactersSinceYield, stepsAtYield, pattern }: Search): boolean {
  return charactersSinceYield > 500_000 || pattern.steps - stepsAtYield > 100_000
}

async function yieldToOthers(search: Search): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, 0))
  search.charactersSinceYield = 0
  search.stepsAtYield = search.pattern.steps
}

function shownLine(line: string): string {
  const cut = truncateUtf8(line, { maxBytes: Infinity, maxCharacters: maxShownCharacters })
  return cut.truncated ? `${cut.text} [line cut]` : line
}

function report({ lines, limit }: Search, unreadable: number): string {
  const shown = lines.length > 0 ? lines.slice(0, limit) : ["No matches."]
  if (lines.length > limit) shown.push(`[stopped after ${limit} lines; narrow the search or raise limit]`)
  if (unreadable > 0) shown.push(`[${unreadable} files could not be read]`)
  return shown.join("\n")
}

/** Empty for what is not searched, undefined for what could not be read: a file may vanish while others are searched. */
async function readText(files: Files, path: string, context: ToolContext): Promise<string | undefined> {
  try {
    const bytes = await files.read(path, context.cwd, { offset: 0, limit: maxFileBytes + 1 })
    if (bytes.length > maxFileBytes || bytes.subarray(0, 8192).includes(0)) return ""
    return new TextDecoder().decode(bytes)
  } catch (error) {
    if (error instanceof ToolError) return undefined
    throw error
  }
}
