import { afterEach, describe, expect, test, vi } from "vitest"
import { docxWith } from "../../../../test/knowledge/docx.ts"
import { addDocuments } from "../../../../test/knowledge/place.ts"
import { pdfWithPages } from "../../../../test/support/pdf-files.ts"
import { memoryStore } from "../../../stores/memory.ts"
import { getExtractor, type KnowledgeFormat, openKnowledge, writeKnowledgeIndex } from "./index.ts"

const { signal } = new AbortController()
const extract = (format: KnowledgeFormat, bytes: Uint8Array, name = `b/a.${format}`) =>
  getExtractor(format)(bytes, { name, signal })

const docx = docxWith([
  ["Heading1", "Terms"],
  ["", "Payment within &lt;14&gt; days."],
  ["Heading2", "Warranty"],
  ["", "Two years."],
])

afterEach(() => {
  vi.doUnmock("unpdf")
  vi.doUnmock("mammoth")
})

describe("on Node", { tags: ["KB-08"] }, () => {
  test("the pages of a PDF are sections, also after the twentieth", async () => {
    const pages = Array.from({ length: 23 }, (_, index) => `Text number ${index + 1}`)
    const { text, kind } = await extract("pdf", pdfWithPages(pages))
    expect(kind).toBe("markdown")
    expect(text).toMatch(
      /^## Page 1\nText number 1\n## Page 2\n[\s\S]*## Page 20\nText number 20\n## Page 21\n[\s\S]*## Page 23\nText number 23$/,
    )
  })

  test("a DOCX has its headings and its text", async () => {
    expect(await extract("docx", docx)).toEqual({
      text: "# Terms\n\nPayment within <14> days.\n\n## Warranty\n\nTwo years.",
      kind: "markdown",
    })
  })

  test("a PDF and a Word file are found and read, from the index, too", { tags: ["KB-08"] }, async () => {
    const store = memoryStore()
    await addDocuments(store, { "b/a.pdf": pdfWithPages(["Apples", "Pears and plums"]), "b/c.docx": docx })
    for (const isIndexed of [false, true]) {
      if (isIndexed) expect((await writeKnowledgeIndex({ store, base: "b" })).failed).toEqual([])
      const library = await openKnowledge({ store })
      expect((await library.search("plums", { limit: 1 }))[0]?.ref).toBe("b/a.pdf#page-2")
      expect((await library.search("warranty", { limit: 1 }))[0]?.ref).toBe("b/c.docx#warranty")
      expect((await library.read("b/c.docx#warranty", { signal })).text).toBe("## Warranty\n\nTwo years.")
    }
  })

  test.each([
    ["pdf", "unpdf"],
    ["docx", "mammoth"],
  ] as const)("%s without its package is format_unsupported and names the install command", async (format, peer) => {
    vi.doMock(peer, () => {
      throw new Error("not there")
    })
    await expect(extract(format, new Uint8Array(10))).rejects.toMatchObject({
      code: "format_unsupported",
      message: `b/a.${format} is ${format.toUpperCase()}, which cannot be read here.`,
      fix: `Run: npm install ${peer}`,
    })
    const store = memoryStore()
    await addDocuments(store, { [`b/a.${format}`]: "x", "b/b.md": "# B\n" })
    const { index, failed } = await writeKnowledgeIndex({ store, base: "b" })
    expect(index.files.map(({ path }) => path)).toEqual(["b.md"])
    expect(failed).toEqual([{ path: `a.${format}`, reason: expect.stringContaining(`npm install ${peer}`) }])
  })

  test.each([
    ["a PDF that is damaged", "pdf", new TextEncoder().encode("no PDF"), "damaged or not a PDF"],
    ["a PDF that is encrypted", "pdf", pdfWithPages(["x"], "/Encrypt << /Filter /Standard >>"), "encrypted"],
    ["a DOCX that is damaged", "docx", docx.slice(0, 200), "damaged or not docx"],
    ["a DOCX that is another archive", "docx", new TextEncoder().encode("PK"), "damaged or not docx"],
    ["a DOCX that unpacks to gigabytes", "docx", docxWith([["", "x"]], 2 ** 31), "damaged or not docx"],
  ] as const)("%s is format_unsupported", async (_, format, bytes, message) => {
    await expect(extract(format, bytes)).rejects.toMatchObject({
      code: "format_unsupported",
      message: expect.stringContaining(message),
    })
  })

  test("the other formats are those of everywhere", async () => {
    expect(await extract("md", new TextEncoder().encode("# A"))).toEqual({ text: "# A", kind: "markdown" })
  })
})
