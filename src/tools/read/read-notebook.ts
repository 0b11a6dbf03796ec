import type { ImagePart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { isJsonObject } from "../../lib/json.ts"
import { beforeCut, type Redact } from "../../lib/text/before-cut.ts"
import { truncateUtf8, utf8Length } from "../../lib/truncate.ts"
import type { Notebook } from "../edit/notebook.ts"

/** A notebook as lines to read, and its images by line number, counted from 1. */
export interface NotebookLines {
  readonly lines: readonly string[]
  readonly images: ReadonlyMap<number, ImagePart>
}

export function notebookLines({ cells }: Notebook, redact: Redact): NotebookLines {
  const lines: string[] = []
  const images = new Map<number, ImagePart>()
  for (const [index, { content }] of cells.entries()) {
    const id = typeof content.id === "string" ? `, id ${content.id}` : ""
    lines.push(`[cell ${index}, ${content.cell_type}${id}]`, ...linesOf(joined(content.source)))
    for (const output of listOf(content.outputs)) {
      const { text, image } = shownOutput(output)
      lines.push("[output]", ...linesOf(bounded(text, redact)))
      if (image === undefined) continue
      lines.push(`[image: ${image.mediaType}]`)
      images.set(lines.length, image)
    }
  }
  return { lines, images }
}

const maxOutputCharacters = 4000

function shownOutput(output: Json): { readonly text: string; readonly image?: ImagePart } {
  if (!isJsonObject(output)) return { text: "" }
  if (output.output_type === "stream") return { text: withoutColours(joined(output.text)) }
  if (output.output_type === "error") {
    const trace = withoutColours(joined(output.traceback, "\n"))
    return { text: trace === "" ? `${output.ename}: ${output.evalue}` : trace }
  }
  const data: JsonObject = isJsonObject(output.data) ? output.data : {}
  const mediaType = ["image/png", "image/jpeg"].find((type) => joined(data[type]) !== "")
  const text = withoutColours(joined(data["text/plain"]))
  if (mediaType === undefined) return { text }
  return { text, image: { type: "image", mediaType, data: joined(data[mediaType]).replace(/\s/g, "") } }
}

/** Texts are one string or a list of strings. */
function joined(value: Json | undefined, separator = ""): string {
  if (typeof value === "string") return value
  return listOf(value)
    .filter((piece) => typeof piece === "string")
    .join(separator)
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function bounded(given: string, redact: Redact): string {
  const text = beforeCut(given, maxOutputCharacters, redact)
  const cut = truncateUtf8(text, { maxBytes: Number.POSITIVE_INFINITY, maxCharacters: maxOutputCharacters })
  if (!cut.truncated) return text
  return `${cut.text}\n[output cut: ${utf8Length(given) - utf8Length(cut.text)} bytes omitted]`
}

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours begin with.
  return text.replace(/\u001b\[[0-9;]*m/g, "")
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/)
}
