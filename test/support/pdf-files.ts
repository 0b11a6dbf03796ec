import { deflateSync } from "node:zlib"

/** One object of a PDF: its dictionary and stream content. */
export interface PdfObject {
  readonly dictionary: string
  readonly stream?: Uint8Array
}

/** A PDF with these objects, numbered from 1; the first is its catalogue. `trailer` adds to the last dictionary. */
function pdfOf(objects: readonly PdfObject[], trailer = ""): Uint8Array {
  const parts: Buffer[] = [Buffer.from("%PDF-1.7\n")]
  const offsets: number[] = []
  const length = () => parts.reduce((sum, part) => sum + part.length, 0)
  for (const [index, { dictionary, stream }] of objects.entries()) {
    offsets.push(length())
    const begin = `${index + 1} 0 obj\n`
    if (stream === undefined) parts.push(Buffer.from(`${begin}<< ${dictionary} >>\nendobj\n`))
    else {
      parts.push(Buffer.from(`${begin}<< ${dictionary} /Length ${stream.length} >>\nstream\n`), Buffer.from(stream))
      parts.push(Buffer.from("\nendstream\nendobj\n"))
    }
  }
  const at = length()
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("")
  const size = objects.length + 1
  parts.push(Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${rows}`))
  parts.push(Buffer.from(`trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`))
  return new Uint8Array(Buffer.concat(parts))
}

/** A PDF of one page for each content, which is a stream with its dictionary or the text that the page shows. */
export function pdfWithPages(pages: readonly (string | PdfObject)[], trailer = ""): Uint8Array {
  const first = 4
  const kids = pages.map((_, index) => `${first + index * 2} 0 R`).join(" ")
  return pdfOf(
    [
      { dictionary: "/Type /Catalog /Pages 2 0 R" },
      { dictionary: `/Type /Pages /Kids [${kids}] /Count ${pages.length}` },
      { dictionary: "/Type /Font /Subtype /Type1 /BaseFont /Helvetica" },
      ...pages.flatMap((page, index): PdfObject[] => [
        {
          dictionary: `/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${first + index * 2 + 1} 0 R`,
        },
        typeof page === "string" ? { dictionary: "", stream: drawn(page) } : page,
      ]),
    ],
    trailer,
  )
}

/** Draws a text, one line below the other. Text outside the page is not read, so long text is small. */
export function drawn(text: string, size = 12): Uint8Array {
  const lines = text.split("\n").map((line) => `(${line}) Tj 0 ${-1.5 * size} Td`)
  return new TextEncoder().encode(`BT /F1 ${size} Tf 72 720 Td ${lines.join(" ")} ET`)
}

/** A stream that decompresses to this many bytes of white space. */
export function packedSpaces(bytes: number): PdfObject {
  return { dictionary: "/Filter /FlateDecode", stream: deflateSync(Buffer.alloc(bytes, 0x20), { level: 1 }) }
}
