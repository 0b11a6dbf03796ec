import type { Files } from "../contract/env.ts"
import { type Tool, type ToolContext, ToolError } from "../contract/tool.ts"
import { defineTool } from "../lib/define-tool.ts"
import { latin1, sniffEncoding } from "../lib/text-file.ts"
import { LineCollector } from "./line-collector.ts"
import { filesOf, stopIfAborted } from "./shared.ts"

export function readTool(): Tool {
  return defineTool({
    name: "Read",
    description:
      "Reads a text file. Each line comes as its number, a tab and its text. " +
      `Lines over ${maxLineCharacters} characters are cut, and so is the output after ${maxCharacters} characters; ` +
      "a last line says where to continue. UTF-8, UTF-16 and Latin-1; binary files are refused.",
    effect: "none",
    input: {
      type: "object",
      properties: {
        path: { type: "string", minLength: 1, description: "The file, relative to the working directory or absolute." },
        offset: { type: "integer", minimum: 1, default: 1, description: "The first line to read; lines count from 1." },
        limit: { type: "integer", minimum: 1, default: 2000, description: "The most lines to read." },
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
}

const maxLineCharacters = 2000
const maxCharacters = 80_000
const chunkBytes = 256 * 1024

async function read({ path, offset, limit }: ReadArgs, context: ToolContext): Promise<string> {
  const files = filesOf(context)
  const lines = new LineCollector({ offset, limit, maxLineCharacters, maxCharacters })
  let toUtf8: ((chunk: Uint8Array) => Uint8Array) | undefined
  for await (const chunk of chunksOf(files, path, context)) {
    toUtf8 ??= transcoder(chunk, files.display(path, context.cwd))
    if (lines.add(toUtf8(chunk)) === "full") break
  }
  lines.end()

  const name = files.display(path, context.cwd)
  if (lines.seen === 0) return `${name} is empty.`
  if (lines.kept.length === 0) {
    throw new ToolError("invalid_input", `${name} has ${lines.seen} lines; offset ${offset} is past its end.`)
  }
  const more = lines.hasMore ? [`[more lines follow; continue with offset ${offset + lines.kept.length}]`] : []
  return [...lines.kept, ...more].join("\n")
}

/** By ranges, so that a huge file is never in memory as a whole. */
async function* chunksOf(files: Files, path: string, context: ToolContext): AsyncGenerator<Uint8Array> {
  for (let offset = 0; ; offset += chunkBytes) {
    stopIfAborted(context)
    const chunk = await files.read(path, context.cwd, { offset, limit: chunkBytes })
    if (chunk.length > 0) yield chunk
    if (chunk.length < chunkBytes) return
  }
}

/** Lines are found in UTF-8; other encodings are turned into it piece by piece. */
function transcoder(start: Uint8Array, name: string): (chunk: Uint8Array) => Uint8Array {
  const encoding = sniffEncoding(start)
  if (encoding === undefined) throw new ToolError("invalid_input", `${name} is a binary file.`)
  if (encoding === "utf-8") return (chunk) => chunk
  const encoder = new TextEncoder()
  if (encoding === "latin1") return (chunk) => encoder.encode(latin1(chunk))
  const decoder = new TextDecoder(encoding)
  return (chunk) => encoder.encode(decoder.decode(chunk, { stream: true }))
}
