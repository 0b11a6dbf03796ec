import { deflateSync } from "node:zlib"
import { describe, expect, test, vi } from "vitest"
import { drawn, packedSpaces, pdfWithPages } from "../../../test/support/pdf-files.ts"
import type { JsonObject } from "../../contract/json.ts"
import { plainText } from "../../lib/content.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { memoryFiles } from "../memory-files.ts"
import { readTool } from "./read.ts"

const dispatcher = createDispatcher([readTool()])
const utf8 = (text: string) => new TextEncoder().encode(text)

describe("Read of a PDF", () => {
  const reading = async (pdf: Uint8Array, args: JsonObject = {}, signal = new AbortController().signal) => {
    const env = { files: memoryFiles({ "a.pdf": pdf }) }
    const { status, output } = await dispatcher.dispatch(
      { name: "Read", args: { path: "a.pdf", ...args } },
      createToolContext({ signal, env }),
    )
    return { status, text: plainText(output, "\n") }
  }
  const refusal = async (pdf: Uint8Array, args?: JsonObject) => {
    const { status, text } = await reading(pdf, args)
    expect(status).toBe("error")
    return JSON.parse(text).error
  }

  test("a PDF without text is reported as such", async () => {
    const picture = { dictionary: "", stream: utf8("q 100 0 0 100 0 0 cm Q") }
    expect((await reading(pdfWithPages([picture, picture]))).text).toBe(
      "[page 1 of 2]\n[page 2 of 2]\n[no text on these pages: they are images, such as scans]",
    )
  })

  test("a PDF with many pages is read in parts", async () => {
    const pdf = pdfWithPages(Array.from({ length: 45 }, (_, index) => `Page ${index + 1}`))
    const { text } = await reading(pdf)
    expect(text).toMatch(/\[page 20 of 45\]\nPage 20\n\[more pages follow; continue with pages "21-40"\]$/)
    const rest = await reading(pdf, { pages: "41-45" })
    expect(rest.text).toMatch(/^\[page 41 of 45\]\nPage 41\n.*Page 45$/s)
  })

  test("a PDF with too much text is cut, with the page to continue from", async () => {
    const pdf = pdfWithPages([{ dictionary: "", stream: drawn(`${"x".repeat(3000)}\n`.repeat(30), 0.1) }, "Last"])
    const { text } = await reading(pdf)
    expect(text.length).toBeLessThan(81_000)
    expect(text).toMatch(/x\n\[page cut: \d+ bytes omitted\]\n\[more pages follow; continue with pages "2-2"\]$/)
  })

  test.each([
    ["past the end", "3", 'a.pdf has 2 pages. Use one number or a range, such as "1-2".'],
    ["backwards", "2-1", 'Invalid pages: "2-1". Use one number or a range, such as "1-2".'],
    ["zero", "0", 'Invalid pages: "0". Use one number or a range, such as "1-2".'],
    ["words", "all", 'Invalid pages: "all". Use one number or a range, such as "1-2".'],
  ])("PDF pages that are %s are rejected", async (_, pages, message) => {
    expect(await refusal(pdfWithPages(["One", "Two"]), { pages })).toEqual({ code: "invalid_input", message })
  })

  test("pages of a file that is not a PDF are rejected", async () => {
    expect((await refusal(utf8("plain"), { pages: "1" })).message).toBe("a.pdf is not a PDF: read it without pages.")
  })

  test("a PDF that is damaged, encrypted or too large is rejected with the reason", async () => {
    expect((await refusal(utf8("%PDF-1.7\nnothing more"))).message).toBe("a.pdf is damaged or not a PDF.")
    const half = pdfWithPages(["One"])
    expect((await refusal(half.subarray(0, 60))).message).toBe("a.pdf is damaged or not a PDF.")
    for (const name of ["/Encrypt", "/#45ncr#79pt"]) {
      const locked = pdfWithPages(
        ["One"],
        `${name} << /Filter /Standard /V 1 /R 2 /O <00> /U <00> /P -44 >> /ID [<00> <00>]`,
      )
      expect((await refusal(locked)).message).toMatch(/^a\.pdf is encrypted\./)
    }
    const huge = new Uint8Array(20 * 1024 * 1024 + 1)
    huge.set(utf8("%PDF-1.7"))
    expect((await refusal(huge)).message).toBe("a.pdf is a PDF of 20971521 bytes; the limit is 20971520.")
  })

  test("a decompression bomb PDF is rejected before it is decompressed", async () => {
    const bomb = packedSpaces(300_000_000)
    expect(bomb.stream?.length).toBeLessThan(2_000_000)
    const packed = { dictionary: "/Filter /FlateDecode", stream: deflateSync(drawn("packed")) }
    expect((await reading(pdfWithPages([packed]))).text).toBe("[page 1 of 1]\npacked")

    const twice = { ...bomb, stream: deflateSync(bomb.stream ?? "") }
    const half = packedSpaces(150_000_000)
    const old = { dictionary: "/Filter /LZWDecode", stream: new Uint8Array(200_000) }
    const escaped = { ...old, dictionary: "/Fi#6cter [/L#5aWDecode]" }
    const hidden = { ...bomb, dictionary: "/Filter [/ASCIIHexDecode /FlateDecode]" }
    const elsewhere = { ...old, dictionary: "/Filter 9 0 R" }
    for (const pages of [[bomb], [twice], [half, half], [old], [escaped], [hidden], [elsewhere]]) {
      expect((await refusal(pdfWithPages(pages))).message).toMatch(/^a\.pdf decompresses to more than 268435456 bytes/)
    }
  })

  test("a PDF that claims a million pages is read like any other", async () => {
    const pdf = pdfWithPages(["One", "Two"])
    const text = Buffer.from(pdf).toString("latin1").replace("/Count 2", "/Count 1000000")
    const lying = new Uint8Array(Buffer.from(text, "latin1"))
    const { text: shown } = await reading(lying)
    expect(shown).toMatch(/^\[page 1 of \d+\]\nOne\n/)
    expect(shown.length).toBeLessThan(2000)
  })

  test("reading a PDF stops when the run is stopped", async () => {
    const { status, text } = await reading(pdfWithPages(["One"]), {}, AbortSignal.abort())
    expect(status).toBe("error")
    expect(JSON.parse(text).error.code).toBe("aborted")
  })

  test("without its package, reading a PDF names the install command", async () => {
    vi.doMock("unpdf", () => {
      throw new Error("not there")
    })
    try {
      expect(await refusal(pdfWithPages(["One"]))).toEqual({
        code: "denied",
        message: "Reading a.pdf needs a package that is not installed. Run: npm install unpdf",
      })
    } finally {
      vi.doUnmock("unpdf")
    }
  })
})
