import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { JsonObject } from "../../contract/json.ts"
import { decodeText, encodeText } from "../../lib/text-file.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { memoryFiles } from "../memory-files.ts"
import { editTool, multiEditTool } from "./edit.ts"
import { replaceInFile } from "./replace-text.ts"

const dispatcher = createDispatcher([editTool(), multiEditTool()])

async function call(name: string, args: JsonObject, content: string | Uint8Array) {
  const files = memoryFiles({ "a.txt": content })
  const context = createToolContext({ env: { files } })
  const { isError, text } = await dispatcher.callTool(name, { path: "a.txt", ...args }, context)
  return { isError, text, bytes: await files.read("a.txt", "/") }
}
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe("Edit", () => {
  test("Edit replaces the only occurrence and reports its line", { tags: ["TOOL-11"] }, async () => {
    const { isError, text, bytes } = await call("Edit", { oldText: "two", newText: "2" }, "one\ntwo\nthree\n")
    expect({ isError, text, content: textOf(bytes) }).toEqual({
      isError: false,
      text: "Replaced one place in a.txt (line 2).",
      content: "one\n2\nthree\n",
    })
  })

  test("Edit rejects a text that occurs more than once, with the lines, unless replaceAll is set", {
    tags: ["TOOL-11"],
  }, async () => {
    const refused = await call("Edit", { oldText: "a", newText: "b" }, "a\nx\na\n")
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("2 times in a.txt (lines 1, 3)") })
    expect(textOf(refused.bytes)).toBe("a\nx\na\n")
    const all = await call("Edit", { oldText: "a", newText: "b", replaceAll: true }, "a\nx\na\n")
    expect(textOf(all.bytes)).toBe("b\nx\nb\n")
  })

  test.each([
    [
      "another indentation",
      "function f() {\n    return 1\n}\n",
      "function f() {\n\treturn 1\n}",
      "1\tfunction f() {\n2\t    return 1",
    ],
    ["one wrong line", "a1\nb2\nc3\nd4\n", "b2\nXX\nd4", "2\tb2\n3\tc3\n4\td4"],
    ["only a part alike", "const total = sum(values)\n", "const total = add(values)", "1\tconst total = sum(values)"],
  ])("Edit names the closest lines for a near miss: %s", async (_, content, oldText, shown) => {
    const { isError, text } = await call("Edit", { oldText, newText: "new" }, content)
    expect(isError).toBe(true)
    expect((JSON.parse(text) as { error: { message: string } }).error.message).toContain(`The closest lines:\n${shown}`)
  })

  test.each([
    ["not there and nothing like it", { oldText: "zzz", newText: "x" }, "not_found"],
    ["empty", { oldText: "", newText: "x" }, "invalid_input"],
    ["no change", { oldText: "one", newText: "one" }, "invalid_input"],
    ["missing argument", { oldText: "one" }, "invalid_input"],
    ["another file", { path: "b.txt", oldText: "one", newText: "x" }, "not_found"],
  ])("Edit is rejected if it is %s", async (_, args, code) => {
    const { isError, text, bytes } = await call("Edit", args, "one\n")
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toMatchObject({ error: { code } })
    expect(textOf(bytes)).toBe("one\n")
  })

  test("Edit keeps CRLF even if the model wrote LF; a lone LF stays", async () => {
    const { bytes } = await call("Edit", { oldText: "a\nb", newText: "x\ny\nz" }, "a\r\nb\r\nc\n")
    expect(textOf(bytes)).toBe("x\r\ny\r\nz\r\nc\n")
  })

  test("Edit keeps encodings and byte order marks: UTF-8, UTF-16 of both kinds, Latin-1", {
    tags: ["TOOL-36"],
  }, async () => {
    for (const encoding of ["utf-8-bom", "utf-16le", "utf-16be", "latin1"] as const) {
      const before = encodeText({ text: "é one\n", encoding })
      const { bytes } = await call("Edit", { oldText: "one", newText: "ü" }, before as Uint8Array)
      expect(decodeText(bytes)).toEqual({ text: "é ü\n", encoding })
    }
    const lacking = await call("Edit", { oldText: "one", newText: "☕" }, Uint8Array.from([0xe9, 0x6f, 0x6e, 0x65]))
    expect(lacking).toMatchObject({ isError: true, text: expect.stringContaining("Latin-1") })
    expect(await call("Edit", { oldText: "a", newText: "b" }, Uint8Array.from([97, 0, 1]))).toMatchObject({
      isError: true,
    })
  })
})

describe("MultiEdit", () => {
  const edit = (oldText: string, newText: string, replaceAll = false) => ({ oldText, newText, replaceAll })

  test("each edit of MultiEdit applies to the result of the one before", async () => {
    const { text, bytes } = await call("MultiEdit", { edits: [edit("a", "b"), edit("b", "c", true)] }, "a b\n")
    expect(textOf(bytes)).toBe("c c\n")
    expect(text).toBe("Replaced 3 places in a.txt (line 1, 1).")
  })

  test("MultiEdit is all or nothing: the failing edit is named, and nothing is written", async () => {
    const { isError, text, bytes } = await call("MultiEdit", { edits: [edit("a", "b"), edit("zzz", "c")] }, "a\n")
    expect(isError).toBe(true)
    expect(text).toContain("Edit 2 of 2: oldText does not occur")
    expect(textOf(bytes)).toBe("a\n")
  })
})

test("MultiEdit never changes a byte outside a replacement", () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).filter((each) => decodeText(each) !== undefined)
  const marker = "<<unique marker>>"
  fc.assert(
    fc.property(bytes, fc.nat(), fc.stringMatching(/^[ -~]{0,20}$/), (content, place, newText) => {
      fc.pre(newText !== marker)
      const file = decodeText(content)
      if (file === undefined) return
      // Between two characters, so that the marker is one replacement of a text.
      const at = place % (file.text.length + 1)
      fc.pre(!isInsidePair(file.text, at))
      const encode = (text: string) => encodeText({ text, encoding: file.encoding }) as Uint8Array
      expect(Array.from(encode(file.text))).toEqual(Array.from(content))
      const before = encode(file.text.slice(0, at) + marker + file.text.slice(at))
      const after = replaceInFile(before, [{ oldText: marker, newText, replaceAll: false }], "f", String).bytes
      expect(Array.from(after)).toEqual(Array.from(encode(file.text.slice(0, at) + newText + file.text.slice(at))))
    }),
    { numRuns: 2000 },
  )
})

function isInsidePair(text: string, at: number): boolean {
  return /[\ud800-\udbff]/.test(text[at - 1] ?? "") && /[\udc00-\udfff]/.test(text[at] ?? "")
}
