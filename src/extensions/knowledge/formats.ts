import { LonghaulError } from "../../contract/error.ts"
import { loadEntityDecoder } from "../../lib/html/html-entities.ts"
import { htmlToText } from "../../lib/html/html-to-text.ts"
import { checkArgument, words } from "../../lib/schema/shape.ts"
import { decodeText } from "../../lib/text-file.ts"
import type { ExtractedText } from "./sections.ts"

export const knowledgeFormats = ["md", "txt", "json", "csv", "html", "pdf", "docx"] as const

/** A format of documents. */
export type KnowledgeFormat = (typeof knowledgeFormats)[number]

/** Turns the bytes of a document into text. Rejects with `format_unsupported` if it cannot. */
export type Extractor = (bytes: Uint8Array, request: ExtractRequest) => Promise<ExtractedText>

export interface ExtractRequest {
  /** The name of the document, for messages. */
  readonly name: string
  readonly signal: AbortSignal
}

/** Extractors for further formats, or in place of the usual ones. */
export type Extractors = Readonly<Partial<Record<KnowledgeFormat, Extractor>>>

/** The extractor of a format, as far as it needs nothing but web standards. That of another one rejects with `format_unsupported`. */
export function getExtractor(format: KnowledgeFormat): Extractor {
  checkArgument("format", format, words(...knowledgeFormats))
  return portable[format]
}

/** The format of a file by its name; undefined: none of ours. */
export function formatOf(path: string): KnowledgeFormat | undefined {
  const ending = /\.([A-Za-z]{2,8})$/.exec(path)?.[1]?.toLowerCase() ?? ""
  return knowledgeFormats.find((format) => format === ending) ?? endings[ending]
}

/** The format that a server reports. */
export function formatOfMediaType(contentType: string): KnowledgeFormat | undefined {
  const [type = ""] = contentType.toLowerCase().split(";")
  return mediaTypes[type.trim()]
}

const endings: Readonly<Record<string, KnowledgeFormat>> = { markdown: "md", text: "txt", htm: "html" }

const mediaTypes: Readonly<Record<string, KnowledgeFormat>> = {
  "text/markdown": "md",
  "text/plain": "txt",
  "application/json": "json",
  "text/csv": "csv",
  "text/html": "html",
  "application/xhtml+xml": "html",
  "application/pdf": "pdf",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}

const portable: Readonly<Record<KnowledgeFormat, Extractor>> = {
  md: async (bytes, request) => ({ text: decoded(bytes, request), kind: "markdown" }),
  txt: async (bytes, request) => ({ text: decoded(bytes, request), kind: "lines" }),
  json: async (bytes, request) => ({ text: indented(decoded(bytes, request)), kind: "lines" }),
  csv: async (bytes, request) => ({ text: decoded(bytes, request), kind: "table" }),
  html: async (bytes, request) => extractHtml(decoded(bytes, request)),
  pdf: needsNode("PDF", "unpdf"),
  docx: needsNode("DOCX", "mammoth"),
}

/** Scripts and styles are dropped, entities decoded, white space collapsed; headings become those of Markdown. */
export async function extractHtml(html: string): Promise<ExtractedText> {
  const { title, text } = htmlToText(html, await loadEntityDecoder(), { maxCharacters: MAX_PAGE_LENGTH })
  const isTitled = title === "" || text.startsWith("# ")
  return { text: isTitled ? text : `# ${title}\n\n${text}`, kind: "markdown" }
}

/** The error of a format that cannot be read here. */
export function unsupported(format: string, name: string, fix: string, cause?: unknown): LonghaulError {
  return new LonghaulError("format_unsupported", `${name} is ${format}, which cannot be read here.`, { fix, cause })
}

/** The error of a document that is not what its name says. */
export function damaged(name: string, format: KnowledgeFormat, cause: unknown): LonghaulError {
  const fix = "Check the document, or convert it to Markdown."
  return new LonghaulError("format_unsupported", `${name} is damaged or not ${format}.`, { fix, cause })
}

function needsNode(format: string, peer: string): Extractor {
  const fix = `Run on Node with the package installed (npm install ${peer}), or pass an extractor for it.`
  return async (_, { name }) => {
    throw unsupported(format, name, fix)
  }
}

function decoded(bytes: Uint8Array, { name }: ExtractRequest): string {
  const file = decodeText(bytes)
  if (file) return file.text
  throw unsupported("binary", name, "Give the file the ending of its format, or convert it to text.")
}

/** One value a line, so that a part of a long document ends between two of them. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1)
  } catch {
    return text
  }
}

const MAX_PAGE_LENGTH = 10_000_000
