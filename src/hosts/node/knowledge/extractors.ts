import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import type { Extractor, Extractors } from "../../../extensions/knowledge/formats.ts"
import { damaged, extractHtml, unsupported } from "../../../extensions/knowledge/formats.ts"

/** The formats that need packages, which a host installs if it needs them. */
export const nodeExtractors: Extractors = { pdf: extractPdf, docx: extractDocx }

/** Each page becomes a section. */
async function extractPdf(...[bytes, { name, signal }]: Parameters<Extractor>): ReturnType<Extractor> {
  const { readPdf, MAX_PDF_BYTES, MAX_PDF_PAGES } = await import("../../../tools/read/read-pdf.ts")
  const { createToolContext } = await import("../../../tools/kernel/tool-context.ts")
  await required("PDF", name, "unpdf", () => import("unpdf"))
  const context = createToolContext({ signal })
  const pages: string[] = []
  try {
    if (bytes.length > MAX_PDF_BYTES) throw new Error(`It has more than ${MAX_PDF_BYTES} bytes.`)
    for (let first = 1, count = 1; first <= count; first += MAX_PDF_PAGES) {
      const range = `${first}-${first + MAX_PDF_PAGES - 1}`
      const text = await readPdf(bytes, { name, pages: range, maxCharacters: MAX_TEXT_LENGTH }, context)
      count = Number(/^\[page \d+ of (\d+)\]/.exec(text)?.[1] ?? 0)
      pages.push(text.replace(/^\[page (\d+) of \d+\]$/gm, "## Page $1").replace(/\n\[more pages follow.*\]$/, ""))
    }
  } catch (cause) {
    if (!(cause instanceof ToolError)) throw damaged(name, "pdf", cause)
    if (cause.code === "aborted") throw cause
    throw new LonghaulError("format_unsupported", cause.message, { cause })
  }
  return { text: pages.join("\n"), kind: "markdown" }
}

async function extractDocx(...[bytes, { name }]: Parameters<Extractor>): ReturnType<Extractor> {
  const { default: mammoth } = await required("DOCX", name, "mammoth", () => import("mammoth"))
  if (unpackedBytes(bytes) > MAX_UNPACKED_BYTES) throw damaged(name, "docx", new Error("It decompresses to too much."))
  const images = mammoth.images.imgElement(async () => ({ src: "" }))
  const { value } = await mammoth
    .convertToHtml({ buffer: Buffer.from(bytes) }, { convertImage: images })
    .catch((cause: unknown) => {
      throw damaged(name, "docx", cause)
    })
  return extractHtml(value)
}

async function required<T>(format: string, name: string, peer: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw unsupported(format, name, `Run: npm install ${peer}`, cause)
  }
}

/** The sizes that the entries of a ZIP archive declare: a small document can unpack to more than the memory. */
function unpackedBytes(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let sum = 0
  for (let at = 0; at + 28 <= bytes.length; at++) {
    if (bytes[at] === 0x50 && bytes[at + 1] === 0x4b && view.getUint16(at + 2, true) === 0x0201)
      sum += view.getUint32(at + 24, true)
  }
  return sum
}

const MAX_TEXT_LENGTH = 10_000_000
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024
