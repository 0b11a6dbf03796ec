import { type ToolContext, ToolError } from "../../contract/tool.ts"
import { onAbort } from "../../lib/abort.ts"
import { beforeCut, type Redact, redactOf } from "../../lib/text/before-cut.ts"
import { latin1 } from "../../lib/text-file.ts"
import { truncateUtf8 } from "../../lib/truncate.ts"
import { unpacksWithin } from "./pdf-budget.ts"

export interface PdfRequest {
  readonly name: string
  /** Such as `3` or `1-5`; absent: from the first page. */
  readonly pages?: string | undefined
  readonly maxCharacters: number
}

export const MAX_PDF_BYTES = 20 * 1024 * 1024
/** Per call. */
export const MAX_PDF_PAGES = 20

/** The text of a PDF's pages, each after a line with its number. */
export async function readPdf(bytes: Uint8Array, request: PdfRequest, context: ToolContext): Promise<string> {
  const { name } = request
  const clock = startClock(name, context.signal)
  try {
    if (isEncrypted(bytes)) {
      throw new ToolError("invalid_input", `${name} is encrypted. Decrypt it first, for example with qpdf --decrypt.`)
    }
    if (!(await unpacksWithin(bytes, MAX_UNPACKED_BYTES, clock.check))) {
      throw new ToolError(
        "invalid_input",
        `${name} decompresses to more than ${MAX_UNPACKED_BYTES} bytes, or hides its size.`,
      )
    }
    return await Promise.race([extract(bytes, request, clock.check, redactOf(context)), clock.over])
  } finally {
    clock.stop()
  }
}

const MAX_UNPACKED_BYTES = 256 * 1024 * 1024
const TIMEOUT_MS = 30_000

async function extract(bytes: Uint8Array, request: PdfRequest, check: () => void, redact: Redact): Promise<string> {
  const { name, maxCharacters } = request
  const { getDocumentProxy } = await loadUnpdf(name)
  // It takes ownership of the bytes. Without verbosity 0 it would write to the console.
  const document = await getDocumentProxy(bytes.slice(), { verbosity: 0 }).catch((cause: unknown) => {
    throw new ToolError("invalid_input", `${name} is damaged or not a PDF.`, { cause })
  })
  try {
    const { first, last } = pageRange(request, document.numPages)
    const lines: string[] = []
    let left = maxCharacters
    let number = first
    let hasText = false
    for (; number <= last && left > 0; number++) {
      check()
      const text = await pageText(document, number).catch(() => undefined)
      hasText ||= text !== undefined && text !== ""
      const shown = truncateUtf8(beforeCut(text ?? "[this page is damaged]", left, redact), {
        maxBytes: Number.POSITIVE_INFINITY,
        maxCharacters: left,
      })
      lines.push(`[page ${number} of ${document.numPages}]`)
      if (shown.text !== "") lines.push(shown.text)
      if (shown.truncated) lines.push(`[page cut: ${shown.bytes} bytes omitted]`)
      left -= shown.text.length
    }
    if (!hasText) lines.push("[no text on these pages: they are images, such as scans]")
    if (number <= document.numPages)
      lines.push(`[more pages follow; continue with pages ${moreFrom(number, document.numPages)}]`)
    return lines.join("\n")
  } finally {
    await document.loadingTask.destroy().catch(() => {})
  }
}

/** Imported here, so that the package is needed only to read PDFs. */
async function loadUnpdf(name: string): Promise<typeof import("unpdf")> {
  try {
    return await import("unpdf")
  } catch (cause) {
    const message = `Reading ${name} needs a package that is not installed. Run: npm install unpdf`
    throw new ToolError("denied", message, { cause })
  }
}

async function pageText(document: PdfDocument, number: number): Promise<string> {
  const page = await document.getPage(number)
  try {
    const { items } = await page.getTextContent()
    return items
      .map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : ""))
      .join("")
      .trim()
  } finally {
    page.cleanup()
  }
}

type PdfDocument = Awaited<ReturnType<typeof import("unpdf").getDocumentProxy>>

function pageRange({ name, pages }: PdfRequest, count: number): { readonly first: number; readonly last: number } {
  const [, from = "1", to] = /^(\d+)(?:-(\d+))?$/.exec(pages ?? `1-${count}`) ?? ["", "0"]
  const first = Number(from)
  const last = Math.min(Number(to ?? from), count)
  if (first >= 1 && first <= last) return { first, last: Math.min(last, first + MAX_PDF_PAGES - 1) }
  const what = first > count ? `${name} has ${count} pages.` : `Invalid pages: ${JSON.stringify(pages)}.`
  throw new ToolError("invalid_input", `${what} Use one number or a range, such as "1-${Math.min(count, 5)}".`)
}

function moreFrom(number: number, count: number): string {
  return JSON.stringify(`${number}-${Math.min(count, number + MAX_PDF_PAGES - 1)}`)
}

/** Compressed content of an encrypted PDF cannot be measured. Any character of a name may be written as its number. */
function isEncrypted(bytes: Uint8Array): boolean {
  return /\/(E|#45)(n|#6[eE])(c|#63)(r|#72)(y|#79)(p|#70)(t|#74)[\s<%]/.test(latin1(bytes))
}

/** `check` throws between steps; `over` rejects during a step. */
function startClock(name: string, signal: AbortSignal) {
  const ends = performance.now() + TIMEOUT_MS
  const tooLong = new ToolError(
    "timeout",
    `${name} takes longer than ${TIMEOUT_MS / 1000} s to read. Ask for fewer pages.`,
  )
  const aborted = new ToolError("aborted", "The run is being stopped.")
  let fail: (error: ToolError) => void = () => {}
  const over = new Promise<never>((_, reject) => {
    fail = reject
  })
  over.catch(() => {})
  const timer = setTimeout(() => fail(tooLong), TIMEOUT_MS)
  const unlink = onAbort(signal, () => fail(aborted))
  return {
    over,
    check() {
      if (signal.aborted) throw aborted
      if (performance.now() > ends) throw tooLong
    },
    stop() {
      clearTimeout(timer)
      unlink()
    },
  }
}
