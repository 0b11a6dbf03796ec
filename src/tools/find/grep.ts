import { type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { compileLinearPattern } from "../../lib/linear-pattern.ts"
import { redactOf } from "../../lib/text/before-cut.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { compileOrRefuse, filesOf, skippedFolders, stopIfAborted } from "../shared.ts"
import { compileGlob } from "./glob.ts"
import { type Candidate, filesToSearch, maxFileBytes } from "./grep-files.ts"
import { eachMatchingLine, type LineSearch } from "./grep-lines.ts"
import { GrepReport, type ReportOptions } from "./grep-report.ts"
import { fileTypes } from "./grep-types.ts"
import { searchUses } from "./uses.ts"
import { batchesOf } from "./walk.ts"

/** Grep: lines of files that match a regular expression, in linear time. */
export function grepTool(): Tool {
  return defineTool({
    name: "Grep",
    description:
      "Searches text files for a regular expression and prints matches in path order. mode content: path:line:text " +
      "for each matching line; with before, after or context also path-line-text for the surrounding lines, and -- " +
      "between groups. mode files: the paths of files with a match. mode count: path:count of matching lines. " +
      "RE2 syntax: (?i), \\p{Lu} and [[:alpha:]], but no backreferences, lookahead or lookbehind; ^ and $ match the ends of " +
      "a line. With multiline a match may span lines (\\n, (?s:.)), up to 2,500 characters; the shortest match is used, and " +
      "all of its lines are printed. Skips files ignored by .gitignore, .ignore and .rgignore, .git, node_modules, links, binary " +
      "files and files over 5 MB. Without multiline, searches the first 5,000 characters of a line. Prints the first 500.",
    uses: searchUses,
    effect: "none",
    inputSchema: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, description: "The regular expression, e.g. function\\s+\\w+" },
        path: {
          type: "string",
          minLength: 1,
          default: ".",
          description: "A file, or a folder to search including its subfolders.",
        },
        glob: { type: "string", minLength: 1, description: "Only matching files, e.g. *.ts or src/**/*.{js,ts}" },
        type: { type: "string", enum: Object.keys(fileTypes), description: "Only files of this type." },
        mode: { type: "string", enum: ["content", "files", "count"], default: "content" },
        ignoreCase: { type: "boolean", default: false },
        multiline: { type: "boolean", default: false },
        before: {
          type: "integer",
          minimum: 0,
          maximum: 100,
          description: "Number of lines to print before each match.",
        },
        after: { type: "integer", minimum: 0, maximum: 100, description: "Number of lines to print after each match." },
        context: {
          type: "integer",
          minimum: 0,
          maximum: 100,
          default: 0,
          description: "Number of lines to print before and after each match.",
        },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: 10_000,
          default: 200,
          description: "Maximum number of matching lines, or files, to print.",
        },
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
  readonly type?: string
  readonly mode: ReportOptions["mode"]
  readonly ignoreCase: boolean
  readonly multiline: boolean
  readonly before?: number
  readonly after?: number
  readonly context: number
  readonly limit: number
}

const maxFiles = 50_000
/** Files read ahead while the search goes through them in order. */
const readAhead = 8

async function grep(args: GrepArgs, context: ToolContext): Promise<string> {
  const { before = args.context, after = args.context } = args
  const search: LineSearch = {
    pattern: await compileOrRefuse("pattern", () => compileLinearPattern(args.pattern, args)),
    multiline: args.multiline,
    context,
    work: 0,
    busyMs: 0,
    countedAt: 0,
  }
  const { names, wanted } = await wantedFiles(args)
  const walk = { files: filesOf(context), context, wanted, skippedFolders, ignoreFiles: true }
  const report = new GrepReport({ ...args, before, after, redact: redactOf(context) })

  const candidates = await filesToSearch({ ...args, names }, walk)
  try {
    await searchAll(candidates.files, search, report, context)
  } finally {
    await candidates.close()
  }
  return report.toString()
}

async function searchAll(
  files: AsyncIterable<Candidate>,
  search: LineSearch,
  report: GrepReport,
  context: ToolContext,
): Promise<void> {
  let searched = 0
  let unreadable = 0
  for await (const batch of batchesOf(files, readAhead)) {
    const texts = await Promise.all(batch.map((each) => readText(each, search)))
    for (const [index, { path }] of batch.entries()) {
      stopIfAborted(context)
      const text = texts[index]
      if (text === undefined) unreadable++
      else if (text !== "") await searchText(search, report, path, text)
      if (report.isFull) break
    }
    searched += batch.length
    if (report.isFull || searched >= maxFiles) break
  }
  if (unreadable > 0) report.note(`${unreadable} files could not be read`)
  if (searched >= maxFiles && !report.isFull) report.note(`stopped after ${maxFiles} files; narrow path or glob`)
}

async function searchText(search: LineSearch, report: GrepReport, path: string, text: string): Promise<void> {
  const file = report.file(path, text)
  await eachMatchingLine(search, text, file.add)
  file.end()
}

interface WantedFiles {
  readonly names: readonly string[]
  readonly wanted: (path: string) => boolean
}

async function wantedFiles({ glob, type }: GrepArgs): Promise<WantedFiles> {
  const byGlob = await compileOrRefuse("glob", () => compileGlob(glob ?? "**"))
  const globs = type === undefined ? [] : (fileTypes[type] ?? [])
  const byType = globs.map((each) => compileGlob(each))
  return {
    names: glob === undefined ? globs : [glob.slice(glob.lastIndexOf("/") + 1)],
    wanted: (path) => byGlob(path) && (byType.length === 0 || byType.some((fits) => fits(path))),
  }
}

/** Empty for files that are not searched, undefined for unreadable ones: a file may disappear during a search. */
async function readText(candidate: Candidate, { multiline }: LineSearch): Promise<string | undefined> {
  try {
    const bytes = await candidate.read()
    if (bytes === undefined || bytes.length > maxFileBytes || isBinary(bytes)) return ""
    const text = decoder.decode(bytes)
    return multiline ? text.replaceAll("\r\n", "\n") : text
  } catch (error) {
    if (error instanceof ToolError) return undefined
    throw error
  }
}

const decoder = new TextDecoder()

/** With a NUL character anywhere, or in UTF-16. */
function isBinary(bytes: Uint8Array): boolean {
  const [first, second] = bytes
  return bytes.includes(0) || (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}
