import type { ContentPart } from "../../contract/content.ts"
import type { Files } from "../../contract/env.ts"
import { type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { type Redact, redactOf } from "../../lib/text/before-cut.ts"
import { decodeText, latin1, sniffEncoding } from "../../lib/text-file.ts"
import { readNotebook } from "../edit/notebook.ts"
import { defineTool } from "../kernel/define-tool.ts"
import { imageTypeOf, isPdf, MAX_MEDIA_BYTES } from "../media.ts"
import { filesOf, stopIfAborted } from "../shared.ts"
import { LineCollector } from "./line-collector.ts"
import { imageTooLarge, readImage } from "./read-image.ts"
import { type NotebookLines, notebookLines } from "./read-notebook.ts"
import { MAX_PDF_BYTES, MAX_PDF_PAGES, readPdf } from "./read-pdf.ts"
import { readUses } from "./uses.ts"

/** Read: the text of a file with line numbers, images, the text of PDFs, notebooks with their outputs. */
export function readTool(): Tool {
  return defineTool({
    name: "Read",
    description:
      "Reads a file. Each line of a text file is returned as its number, a tab and its text, without its line ending. " +
      `Lines over ${maxLineCharacters} characters are cut, and so is the output after ${maxCharacters} characters; ` +
      "the last line shows where to continue. Supports UTF-8, UTF-16 and Latin-1. PNG, JPEG, GIF and WebP images are shown to you. " +
      `A PDF returns the text of up to ${MAX_PDF_PAGES} pages at once; a notebook (.ipynb) returns its cells with their ` +
      `numbers, ids and outputs, with up to ${maxNotebookImages} images. Other binary files are rejected.`,
    uses: readUses,
    effect: "none",
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", minLength: 1, description: "The file, relative to the working directory or absolute." },
        offset: { type: "integer", minimum: 1, default: 1, description: "The first line to read, counted from 1." },
        limit: { type: "integer", minimum: 1, default: 2000, description: "Maximum number of lines to read." },
        pages: { type: "string", minLength: 1, description: 'For a PDF: the pages, such as "3" or "1-5".' },
        withVersion: {
          type: "boolean",
          default: false,
          description: "Append a last line with the file's version, which Write can check.",
        },
      },
      required: ["path"],
      additionalProperties: false,
    },
    run: read,
  })
}

interface ReadArgs {
  readonly path: string
  readonly offset: number
  readonly limit: number
  readonly pages?: string
  readonly withVersion: boolean
}

const maxLineCharacters = 2000
const maxCharacters = 80_000
const chunkBytes = 256 * 1024
const maxNotebookBytes = 20 * 1024 * 1024
const maxNotebookImages = 4

async function read(args: ReadArgs, context: ToolContext): Promise<string | readonly ContentPart[]> {
  const files = filesOf(context)
  if (!args.withVersion) return content(args, files, context)
  // Read before the content, so that a change in between counts as a change.
  const { version } = await files.info(args.path, context.cwd)
  const parts = await content(args, files, context)
  const line = `[version ${version}]`
  return typeof parts === "string" ? `${parts}\n${line}` : [...parts, { type: "text", text: line }]
}

async function content(args: ReadArgs, files: Files, context: ToolContext): Promise<string | readonly ContentPart[]> {
  const { path, pages } = args
  const name = files.display(path, context.cwd)
  stopIfAborted(context)
  const start = await files.read(path, context.cwd, { offset: 0, limit: chunkBytes })
  const mediaType = imageTypeOf(start)
  if (mediaType !== undefined) {
    const bytes = await whole(args, files, context, MAX_MEDIA_BYTES, (size) => imageTooLarge(name, size))
    return readImage(bytes, mediaType, name)
  }
  if (isPdf(start)) {
    const bytes = await whole(args, files, context, MAX_PDF_BYTES, (size) => {
      return new ToolError("invalid_input", `${name} is a PDF of ${size} bytes; the limit is ${MAX_PDF_BYTES}.`)
    })
    return readPdf(bytes, { name, maxCharacters, pages }, context)
  }
  if (pages !== undefined) throw new ToolError("invalid_input", `${name} is not a PDF: read it without pages.`)
  const notebook = name.toLowerCase().endsWith(".ipynb") ? await notebookAt(args, files, context) : undefined
  return notebook ? showNotebook(args, notebook, name, redactOf(context)) : showText(args, start, files, context)
}

/** The complete content of a file that is not read in ranges. */
async function whole(
  { path }: ReadArgs,
  files: Files,
  { cwd }: ToolContext,
  maxBytes: number,
  tooLarge: (size: number) => ToolError,
): Promise<Uint8Array> {
  const bytes = await files.read(path, cwd, { offset: 0, limit: maxBytes + 1 })
  if (bytes.length > maxBytes) throw tooLarge((await files.info(path, cwd)).size)
  return bytes
}

async function showText(
  { path, offset, limit }: ReadArgs,
  start: Uint8Array,
  files: Files,
  context: ToolContext,
): Promise<string> {
  const name = files.display(path, context.cwd)
  const redact = redactOf(context)
  const lines = new LineCollector({ offset, limit, maxLineCharacters, maxCharacters, redact })
  let toUtf8: ((chunk: Uint8Array) => Uint8Array) | undefined
  for await (const chunk of chunksOf(start, files, path, context)) {
    toUtf8 ??= transcoder(chunk, name)
    if (lines.add(toUtf8(chunk)) === "full") break
  }
  return shown(lines, offset, name)
}

function showNotebook(
  { offset, limit }: ReadArgs,
  { lines, images }: NotebookLines,
  name: string,
  redact: Redact,
): readonly ContentPart[] {
  const collector = new LineCollector({ offset, limit, maxLineCharacters, maxCharacters, redact })
  collector.add(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")))
  const text = shown(collector, offset, name)
  const isShown = (line: number) => line >= offset && line < offset + collector.kept.length
  const inRange = Array.from(images).filter(([line]) => isShown(line))
  const left = inRange.length - maxNotebookImages
  return [
    { type: "text", text: left > 0 ? `${text}\n[${left} more images are not shown; read from a later line]` : text },
    ...inRange.slice(0, maxNotebookImages).map(([, image]) => image),
  ]
}

function shown(lines: LineCollector, offset: number, name: string): string {
  lines.end()
  if (lines.seen === 0) return `${name} is empty.`
  if (lines.kept.length === 0) {
    throw new ToolError("invalid_input", `${name} has ${lines.seen} lines; offset ${offset} is past its end.`)
  }
  const more = lines.hasMore ? [`[more lines follow; continue with offset ${offset + lines.kept.length}]`] : []
  return [...lines.kept, ...more].join("\n")
}

/** Undefined for an unknown kind: then its text is shown. */
async function notebookAt({ path }: ReadArgs, files: Files, context: ToolContext): Promise<NotebookLines | undefined> {
  const bytes = await files.read(path, context.cwd, { offset: 0, limit: maxNotebookBytes + 1 })
  const text = bytes.length > maxNotebookBytes ? undefined : decodeText(bytes)?.text
  if (text === undefined) return undefined
  try {
    return notebookLines(readNotebook(text, path), redactOf(context))
  } catch (error) {
    if (error instanceof ToolError) return undefined
    throw error
  }
}

/** By ranges, so that a huge file is never completely in memory. `start`: the first range, already read. */
async function* chunksOf(
  start: Uint8Array,
  files: Files,
  path: string,
  context: ToolContext,
): AsyncGenerator<Uint8Array> {
  let chunk = start
  for (let offset = chunkBytes; ; offset += chunkBytes) {
    if (chunk.length > 0) yield chunk
    if (chunk.length < chunkBytes) return
    stopIfAborted(context)
    chunk = await files.read(path, context.cwd, { offset, limit: chunkBytes })
  }
}

/** Lines are found in UTF-8; other encodings are converted in pieces. */
function transcoder(start: Uint8Array, name: string): (chunk: Uint8Array) => Uint8Array {
  const encoding = sniffEncoding(start)
  if (encoding === undefined) throw new ToolError("invalid_input", `${name} is a binary file.`)
  if (encoding === "utf-8") return (chunk) => chunk
  const encoder = new TextEncoder()
  if (encoding === "latin1") return (chunk) => encoder.encode(latin1(chunk))
  const decoder = new TextDecoder(encoding)
  return (chunk) => encoder.encode(decoder.decode(chunk, { stream: true }))
}
