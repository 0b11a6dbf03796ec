import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { JsonObject } from "../../contract/json.ts"
import { createDispatcher, memoryFiles, notebookEditTool } from "../index.ts"
import { createToolContext } from "../kernel/tool-context.ts"

const dispatcher = createDispatcher([notebookEditTool()])

const code = (id: string, source: string | string[]): JsonObject => ({
  cell_type: "code",
  execution_count: 3,
  id,
  metadata: { tags: ["x"] },
  outputs: [{ name: "stdout", output_type: "stream", text: ["1\n"] }],
  source,
})
const markdown = (id: string, source: string | string[]): JsonObject => ({
  cell_type: "markdown",
  id,
  metadata: {},
  source,
})

const notebook = (cells: readonly JsonObject[], minor = 5): JsonObject => ({
  cells: [...cells],
  metadata: { kernelspec: { name: "python3" } },
  nbformat: 4,
  nbformat_minor: minor,
})
const written = (value: JsonObject) => `${JSON.stringify(value, null, 1)}\n`

const three = notebook([markdown("m", ["# Title\n", "text"]), code("c", ["a = 1\n", "print(a)"]), code("d", "b")])

async function edit(args: JsonObject, content: string | Uint8Array = written(three)) {
  const files = memoryFiles({ "a.ipynb": content, "a.json": content })
  const context = createToolContext({ env: { files } })
  const { isError, text } = await dispatcher.callTool("NotebookEdit", { path: "a.ipynb", ...args }, context)
  const bytes = await files.read("a.ipynb", "/")
  const after = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  return {
    isError,
    text,
    after,
    cells: isError ? [] : (JSON.parse(after.replace(/^\ufeff/, "")) as { cells: JsonObject[] }).cells,
  }
}

describe("NotebookEdit", { tags: ["TOOL-15"] }, () => {
  test("NotebookEdit has effect once and runs alone", () => {
    expect(notebookEditTool()).toMatchObject({
      name: "NotebookEdit",
      effect: "once",
      concurrent: false,
      risk: "medium",
    })
  })

  test("NotebookEdit replaces a cell's source by index or id and clears its outputs", async () => {
    for (const which of [{ cellIndex: 1 }, { cellId: "c" }]) {
      const { text, after } = await edit({ ...which, source: "a = 2\nprint('é 😀')\n" })
      expect(text).toBe("Replaced cell 1 in a.ipynb.")
      const changed = { ...code("c", ["a = 2\n", "print('é 😀')\n"]), execution_count: null, outputs: [] }
      const [first, , last] = three.cells as readonly JsonObject[]
      expect(after).toBe(written({ ...three, cells: [first, changed, last] as JsonObject[] }))
    }
  })

  test("NotebookEdit keeps a source that was one string as one string", async () => {
    expect((await edit({ cellIndex: 2, source: "x\ny" })).cells[2]?.source).toBe("x\ny")
    expect((await edit({ cellIndex: 0, source: "" })).cells[0]?.source).toEqual([])
  })

  test("NotebookEdit changes the type of a cell with its required members", async () => {
    const { cells } = await edit({ cellIndex: 1, source: "text", cellType: "markdown" })
    expect(cells[1]).toEqual({ cell_type: "markdown", id: "c", metadata: { tags: ["x"] }, source: ["text"] })
    const attached = notebook([{ ...markdown("m", "x"), attachments: { "a.png": {} } }])
    const other = await edit({ cellIndex: 0, source: "1", cellType: "code" }, written(attached))
    expect(other.cells).toEqual([
      { cell_type: "code", id: "m", metadata: {}, source: "1", execution_count: null, outputs: [] },
    ])
    const kept = await edit({ cellIndex: 0, source: "y" }, written(attached))
    expect(kept.cells[0]).toMatchObject({ attachments: { "a.png": {} }, source: "y" })
  })

  test("NotebookEdit inserts before a cell, or at the end", async () => {
    const places = [
      [{ cellIndex: 0 }, 0],
      [{ cellId: "c" }, 1],
      [{ cellIndex: 3 }, 3],
      [{}, 3],
    ] as const
    for (const [which, index] of places) {
      const { text, after, cells } = await edit({ ...which, action: "insert", source: "new" })
      const { id, ...cell } = cells[index] ?? {}
      expect(cell).toEqual({ cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: ["new"] })
      expect(id).toMatch(/^[0-9a-f]{8}$/)
      expect(text).toBe(`Inserted cell ${index} with the id ${id} in a.ipynb.`)
      expect(after).toBe(written({ ...three, cells }))
      expect(cells.toSpliced(index, 1)).toEqual(three.cells)
    }
  })

  test("a new cell has an id only if the notebook version has them", async () => {
    const args = { action: "insert", source: "t", cellType: "markdown" }
    const { cells, text } = await edit(args, written(notebook([], 4)))
    expect(cells).toEqual([{ cell_type: "markdown", metadata: {}, source: ["t"] }])
    expect(text).toBe("Inserted cell 0 in a.ipynb.")
  })

  test("NotebookEdit deletes the first, the last and the only cell", async () => {
    for (const index of [0, 1, 2]) {
      const { text, after, cells } = await edit({ cellIndex: index, action: "delete" })
      expect(text).toBe(`Deleted cell ${index} in a.ipynb.`)
      expect(cells).toEqual((three.cells as readonly JsonObject[]).toSpliced(index, 1))
      expect(after).toBe(written({ ...three, cells }))
    }
    const { after } = await edit({ cellId: "m", action: "delete" }, written(notebook([markdown("m", "x")])))
    expect(after).toBe(written(notebook([])))
  })
})

describe("the rest of the notebook", () => {
  const layouts: readonly (readonly [string, (value: JsonObject) => string])[] = [
    ["one space", written],
    ["four spaces and no line end", (value) => JSON.stringify(value, null, 4)],
    ["tabs", (value) => `${JSON.stringify(value, null, "\t")}\n\n`],
    ["CRLF", (value) => written(value).replaceAll("\n", "\r\n")],
    ["one line", (value) => JSON.stringify(value)],
    ["a mark", (value) => `\ufeff${written(value)}`],
  ]

  test.each(layouts)("the rest of the notebook keeps its layout: %s", async (_, layout) => {
    const content = layout(three)
    const replaced = await edit({ cellIndex: 1, source: "a = 1\nprint(a)" }, content)
    expect(replaced.after).toBe(layout(notebook(replaced.cells)))
    const inserted = await edit({ cellIndex: 1, action: "insert", source: "x" }, content)
    expect(inserted.after).toBe(layout(notebook(inserted.cells)))
    const deleted = await edit({ cellIndex: 2, action: "delete" }, content)
    expect(deleted.after).toBe(layout(notebook(deleted.cells)))
    const first = await edit({ action: "insert", source: "x" }, layout(notebook([])))
    expect(first.after).toBe(layout(notebook(first.cells)))
  })

  test("the rest of the notebook keeps numbers, escapes and names exactly as written", async () => {
    const odd = '{"cell_type":"raw","metadata":{"a":1.0,"a":12345678901234567890,"\\u0062":"\\u00e9\\/"},"source":""}'
    const head = `{ "nbformat_minor" : 4.0e0, "x": 1E400, "cells" :\t[ ${odd} , ${odd},${odd} ], "nbformat":4 }`
    const { after } = await edit({ cellIndex: 1, action: "delete" }, head)
    expect(after).toBe(head.replace(` , ${odd},`, " , "))
    const inserted = await edit({ cellIndex: 1, action: "insert", source: "x", cellType: "raw" }, head)
    expect(inserted.after.replace('{"cell_type":"raw","metadata":{},"source":["x"]}, ', "")).toBe(head)
  })

  test("any sequence of edits leaves exactly the expected cells", async () => {
    const step = fc.record({
      action: fc.constantFrom("replace", "insert", "delete"),
      place: fc.nat(),
      source: fc.array(fc.constantFrom("a", "\n", '"', "\\", "}", "]", "é", "😀", "\r\n")).map((each) => each.join("")),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.constantFrom(...layouts), async (steps, [, layout]) => {
        let content = layout(notebook([code("c", [])]))
        let expected: string[] = [""]
        for (const { action, place, source } of steps) {
          const count = action === "insert" ? expected.length + 1 : expected.length
          if (count === 0) continue
          const cellIndex = place % count
          const { after, isError, cells } = await edit(
            { action, cellIndex, ...(action !== "delete" && { source }) },
            content,
          )
          expect(isError).toBe(false)
          expected = expected.toSpliced(
            cellIndex,
            action === "insert" ? 0 : 1,
            ...(action === "delete" ? [] : [source]),
          )
          expect(cells.map((cell) => (cell.source as string[]).join(""))).toEqual(expected)
          content = after
        }
        expect(content).toBe(layout(JSON.parse(content.replace(/^\ufeff/, "")) as JsonObject))
      }),
      { numRuns: 150 },
    )
  })
})

describe("NotebookEdit rejects and changes nothing", () => {
  test.each([
    ["no such cell", { cellIndex: 3, source: "x" }, "not_found"],
    ["no such place", { cellIndex: 4, action: "insert", source: "x" }, "not_found"],
    ["no such id", { cellId: "z", source: "x" }, "not_found"],
    ["both", { cellIndex: 0, cellId: "m", source: "x" }, "invalid_input"],
    ["neither", { source: "x" }, "invalid_input"],
    ["neither, to delete", { action: "delete" }, "invalid_input"],
    ["no source", { cellIndex: 0 }, "invalid_input"],
    ["a source to delete", { cellIndex: 0, action: "delete", source: "x" }, "invalid_input"],
    ["an unknown type", { cellIndex: 0, source: "x", cellType: "heading" }, "invalid_input"],
    ["another kind of file", { path: "a.json", cellIndex: 0, source: "x" }, "invalid_input"],
    ["no file", { path: "b.ipynb", cellIndex: 0, source: "x" }, "not_found"],
  ])("NotebookEdit rejects %s and changes nothing", async (_, args, code) => {
    const { isError, text, after } = await edit(args)
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toMatchObject({ error: { code } })
    expect(after).toBe(written(three))
  })

  test.each([
    ["no JSON", "{", "it is not JSON"],
    ["a list", "[]", "it is not a JSON object"],
    ["an old version", JSON.stringify({ nbformat: 3, worksheets: [] }), "its nbformat is 3; only 4 can be edited"],
    ["no version", "{}", "its nbformat is missing"],
    ["half a version", '{"nbformat":4,"cells":[]}', "nbformat_minor"],
    ["no cells", '{"nbformat":4,"nbformat_minor":5,"cells":{}}', "no list of cells"],
    ["a cell that is none", '{"nbformat":4,"nbformat_minor":5,"cells":[1]}', "cell 0 is not an object"],
    [
      "a type that is none",
      '{"nbformat":4,"nbformat_minor":5,"cells":[{"cell_type":"x","source":""}]}',
      'the type "x"',
    ],
    [
      "a cell without source",
      '{"nbformat":4,"nbformat_minor":5,"cells":[{"cell_type":"raw","source":[1]}]}',
      "no source",
    ],
    ["binary", Uint8Array.from([0, 1]), "not UTF-8"],
    ["another encoding", Uint8Array.from([0xff, 0xfe, 0x7b, 0]), "not UTF-8"],
  ])("a file that is not a notebook: %s", async (_, content, why) => {
    const { isError, text } = await edit({ cellIndex: 0, source: "x" }, content)
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toMatchObject({ error: { code: "invalid_input", message: expect.stringContaining(why) } })
  })

  test("an id shared by two cells", async () => {
    const { text } = await edit({ cellId: "m", source: "x" }, written(notebook([markdown("m", ""), markdown("m", "")])))
    expect(JSON.parse(text)).toMatchObject({ error: { code: "conflict" } })
  })
})
