import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { pdfWithPages } from "../../../test/support/pdf-files.ts"
import type { ContentPart } from "../../contract/content.ts"
import type { Files } from "../../contract/env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { nodeFiles } from "../../hosts/node/files/files.ts"
import { plainText } from "../../lib/content.ts"
import { writeTool } from "../edit/write.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { memoryFiles } from "../memory-files.ts"
import { readTool } from "./read.ts"

const root = await mkdtemp(join(tmpdir(), "read-media-"))
afterAll(() => rm(root, { recursive: true }))

/** The same files on a disk and in memory. */
const environments: readonly {
  readonly name: string
  make(content: Record<string, Uint8Array>): Promise<{ files: Files; cwd: string }>
}[] = [
  { name: "in memory", make: async (content) => ({ files: memoryFiles(content), cwd: "/" }) },
  {
    name: "on disk",
    async make(content) {
      const cwd = await mkdtemp(join(root, "ws-"))
      for (const [name, bytes] of Object.entries(content)) await writeFile(join(cwd, name), bytes)
      return { files: nodeFiles({ roots: [cwd], redoFolder: join(root, "redo") }), cwd }
    },
  },
]

const dispatcher = createDispatcher([readTool(), writeTool()])

const { signal } = new AbortController()

function callIn({ files, cwd }: { files: Files; cwd: string }) {
  return (name: string, args: JsonObject) =>
    dispatcher.dispatch({ name, args }, createToolContext({ signal, cwd, env: { files } }))
}

const textOf = (output: readonly ContentPart[]) => plainText(output, "\n")
const messageOf = (output: readonly ContentPart[]): string => JSON.parse(textOf(output)).error.message
const utf8 = (text: string) => new TextEncoder().encode(text)

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
const png = new Uint8Array(Buffer.from(PNG, "base64"))

/** A PNG that claims this many pixels. */
function pngOf(width: number, length = png.length): Uint8Array {
  const bytes = new Uint8Array(length)
  bytes.set(png)
  new DataView(bytes.buffer).setUint32(16, width)
  return bytes
}

describe.each(environments)("Read $name", ({ make }) => {
  const reading = async (name: string, bytes: Uint8Array, args: JsonObject = {}) =>
    callIn(await make({ [name]: bytes }))("Read", { path: name, ...args })

  test("Read shows an image, whatever its name, after a line that describes it", { tags: ["TOOL-09"] }, async () => {
    for (const name of ["a.png", "screenshot", "a.txt"]) {
      expect(await reading(name, png)).toEqual({
        status: "ok",
        output: [
          { type: "text", text: `${name}: image/png, 1 × 1 pixels, ${png.length} bytes` },
          { type: "image", mediaType: "image/png", data: PNG },
        ],
      })
    }
  })

  test("Read describes an image that no model would accept as text", async () => {
    const large = await reading("a.png", pngOf(1, 3_932_161))
    expect(large.status).toBe("error")
    expect(messageOf(large.output)).toMatch(/^a\.png is an image of 3932161 bytes; the limit is 3932160/)
    expect((await reading("a.png", pngOf(1, 3_932_160))).status).toBe("ok")
    expect(messageOf((await reading("a.png", pngOf(8001))).output)).toContain("8001 × 1 pixels; the limit is 8000")
    expect(messageOf((await reading("a.png", png.subarray(0, 12))).output)).toBe("a.png is a damaged image.")
    expect(messageOf((await reading("a.png", pngOf(0))).output)).toBe("a.png is a damaged image.")
  })

  test("Read returns the text of a PDF page by page", { tags: ["TOOL-09"] }, async () => {
    const pdf = pdfWithPages(["First page\nsecond line", "Another page"])
    expect(textOf((await reading("a.pdf", pdf)).output)).toBe(
      "[page 1 of 2]\nFirst page\nsecond line\n[page 2 of 2]\nAnother page",
    )
    expect(textOf((await reading("a.pdf", pdf, { pages: "2" })).output)).toBe("[page 2 of 2]\nAnother page")
    const first = await reading("a.pdf", pdf, { pages: "1-1" })
    expect(textOf(first.output)).toMatch(/second line\n\[more pages follow; continue with pages "2-2"\]$/)
    expect(textOf((await reading("a.pdf", pdf, { pages: "2-99" })).output)).toBe("[page 2 of 2]\nAnother page")
  })

  test("Read shows a notebook's cells with numbers, ids, outputs and images", async () => {
    const { status, output } = await reading("n.ipynb", utf8(JSON.stringify(notebook)))
    expect(status).toBe("ok")
    expect(textOf(output.slice(0, 1))).toBe(
      [
        "1\t[cell 0, markdown, id intro]",
        "2\t# Title",
        "3\ttext",
        "4\t[cell 1, code, id run]",
        "5\tprint(1)",
        "6\t[output]",
        "7\t1",
        "8\t2",
        "9\t[output]",
        "10\t<Figure>",
        "11\t[image: image/png]",
        "12\t[cell 2, code, id bad]",
        "13\tboom",
        "14\t[output]",
        "15\tTraceback",
        "16\tNameError: boom",
      ].join("\n"),
    )
    expect(output.slice(1)).toEqual([{ type: "image", mediaType: "image/png", data: PNG }])
  })

  test("Write with a version refuses to replace a file that changed since it was read", async () => {
    const call = callIn(await make({ "a.txt": utf8("one\n") }))
    const write = async (content: string, version?: string) =>
      call("Write", { path: "a.txt", content, ...(version !== undefined && { version }) })
    const versionNow = async () => {
      const { output } = await call("Read", { path: "a.txt", withVersion: true })
      return /\n\[version (\S+)\]$/.exec(textOf(output))?.[1] ?? ""
    }
    const before = await versionNow()
    expect((await write("two", before)).status).toBe("ok")
    const late = await write("three", before)
    expect(late.status).toBe("error")
    expect(messageOf(late.output)).toBe("a.txt has changed since it was read.")
    expect(textOf((await call("Read", { path: "a.txt" })).output)).toBe("1\ttwo")
    expect((await write("four", await versionNow())).status).toBe("ok")
    expect((await write("five")).status).toBe("ok")
    expect(messageOf((await call("Write", { path: "new.txt", content: "", version: before })).output)).toContain(
      "has changed since it was read",
    )
  })
})

const notebook = {
  nbformat: 4,
  nbformat_minor: 5,
  metadata: {},
  cells: [
    { cell_type: "markdown", id: "intro", metadata: {}, source: ["# Title\n", "text"] },
    {
      cell_type: "code",
      id: "run",
      metadata: {},
      execution_count: 1,
      source: "print(1)",
      outputs: [
        { output_type: "stream", name: "stdout", text: ["1\n", "2\n"] },
        {
          output_type: "display_data",
          metadata: {},
          data: { "text/plain": ["<Figure>"], "image/png": `${PNG.slice(0, 60)}\n${PNG.slice(60)}\n` },
        },
      ],
    },
    {
      cell_type: "code",
      id: "bad",
      metadata: {},
      execution_count: 2,
      source: ["boom"],
      outputs: [
        {
          output_type: "error",
          ename: "NameError",
          evalue: "boom",
          traceback: ["\u001b[0;31mTraceback\u001b[0m", "NameError: boom"],
        },
      ],
    },
  ],
}

describe("Read of a notebook", () => {
  const reading = (value: unknown, args: JsonObject = {}) => {
    const text = typeof value === "string" ? value : JSON.stringify(value)
    return callIn({ files: memoryFiles({ "n.ipynb": text }), cwd: "/" })("Read", { path: "n.ipynb", ...args })
  }

  test("a notebook can be read from a line on, with the images of the shown part", async () => {
    const first = await reading(notebook, { limit: 4 })
    expect(textOf(first.output)).toMatch(
      /^1\t.*\n4\t\[cell 1, code, id run\]\n\[more lines follow; continue with offset 5\]$/s,
    )
    const next = await reading(notebook, { offset: 9, limit: 3 })
    expect(textOf(next.output)).toContain("11\t[image: image/png]")
    expect(next.output.map(({ type }) => type)).toEqual(["text", "image"])
  })

  test("a notebook with long outputs and many images is bounded", async () => {
    const image = { output_type: "display_data", metadata: {}, data: { "image/png": PNG } }
    const long = { output_type: "stream", name: "stdout", text: "x".repeat(5000) }
    const cell = { ...notebook.cells[1], outputs: [long, image, image, image, image, image, image] }
    const { output } = await reading({ ...notebook, cells: [cell] })
    expect(output.map(({ type }) => type)).toEqual(["text", "image", "image", "image", "image"])
    expect(textOf(output)).toContain("[output cut: 1000 bytes omitted]")
    expect(textOf(output)).toContain("[2 more images are not shown; read from a later line]")
  })

  test("an invalid image in a notebook is reported, and an invalid notebook is shown as text", async () => {
    const broken = { output_type: "display_data", metadata: {}, data: { "image/png": "AAAA" } }
    const { output } = await reading({ ...notebook, cells: [{ ...notebook.cells[1], outputs: [broken] }] })
    expect(textOf(output)).toContain("was omitted: it is not a PNG")
    expect(textOf((await reading("{\n broken")).output)).toBe("1\t{\n2\t broken")
    expect(textOf((await reading({ nbformat: 3, worksheets: [] })).output)).toMatch(/^1\t\{"nbformat":3/)
  })
})
