import { describe, expect, test } from "vitest"
import type { Files } from "../../contract/env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { ToolError } from "../../contract/tool.ts"
import { encodeText } from "../../lib/text-file.ts"
import { createDispatcher } from "../kernel/dispatch.ts"
import { createToolContext } from "../kernel/tool-context.ts"
import { readTool } from "./read.ts"

const dispatcher = createDispatcher([readTool()])
const encoder = new TextEncoder()

interface ReadOptions {
  readonly signal?: AbortSignal
  readonly ranges?: { offset: number; limit: number }[]
}

/** One file, `a.txt`, in an environment that can only read it. */
async function read(content: string | Uint8Array, args: JsonObject = {}, options: ReadOptions = {}): Promise<string> {
  const bytes = typeof content === "string" ? encoder.encode(content) : content
  const files: Partial<Files> = {
    display: (path) => path,
    async read(path, _cwd, range = { offset: 0, limit: Infinity }) {
      if (path !== "a.txt") throw new ToolError("not_found", `${path} does not exist.`)
      options.ranges?.push(range)
      return bytes.subarray(range.offset, range.offset + range.limit)
    },
  }
  const { text } = await dispatcher.callTool(
    "Read",
    { path: "a.txt", ...args },
    { ...createToolContext(options.signal && { signal: options.signal }), env: { files: files as Files } },
  )
  return text
}

describe("Read", () => {
  test("Read numbers the lines", { tags: ["TOOL-09"] }, async () => {
    expect(await read("one\ntwo\n")).toBe("1\tone\n2\ttwo")
    expect(await read("one\n\nthree")).toBe("1\tone\n2\t\n3\tthree")
    expect(await read("\n")).toBe("1\t")
  })

  test("Read starts at a line and reports where to continue", async () => {
    expect(await read("a\nb\nc\nd\n", { offset: 2, limit: 2 })).toBe(
      "2\tb\n3\tc\n[more lines follow; continue with offset 4]",
    )
    expect(await read("a\nb\nc\nd\n", { offset: 3, limit: 2 })).toBe("3\tc\n4\td")
  })

  test("Read stops at 2000 lines by default", async () => {
    const text = await read("x\n".repeat(2001))
    expect(text.endsWith("2000\tx\n[more lines follow; continue with offset 2001]")).toBe(true)
    expect(await read("x\n".repeat(2000))).not.toContain("more lines")
    expect(await read("x\n".repeat(2001), { limit: 3000 })).not.toContain("more lines")
  })

  test("Read drops a byte order mark and the CR of CRLF", async () => {
    expect(await read("\ufeffone\r\ntwo\r\nthr\ree")).toBe("1\tone\n2\ttwo\n3\tthr\ree")
  })

  test("Read cuts a very long line with the omitted size, without splitting a character", async () => {
    expect(await read(`${"é".repeat(2001)}\nnext`)).toBe(`1\t${"é".repeat(2000)} [line cut: 2 bytes omitted]\n2\tnext`)
    expect(await read(`a${"😀".repeat(100_000)}`)).toBe(
      `1\ta${"😀".repeat(999)} [line cut: ${400_001 - 3997} bytes omitted]`,
    )
  })

  test("Read stops before its output would be cut", async () => {
    const text = await read(`${"x".repeat(999)}\n`.repeat(200))
    expect(text.length).toBeLessThan(85_000)
    expect(text).toMatch(/80\tx+\n\[more lines follow; continue with offset 81\]$/)
  })

  test("Read reports an empty file", async () => {
    expect(await read("")).toBe("a.txt is empty.")
  })

  test.each<[string, string | Uint8Array, JsonObject, string, string]>([
    [
      "an offset past the end",
      "a\nb\n",
      { offset: 3 },
      "invalid_input",
      "a.txt has 2 lines; offset 3 is past its end.",
    ],
    ["a binary file", Uint8Array.of(0x7f, 0x45, 0, 1), {}, "invalid_input", "a.txt is a binary file."],
    ["a missing file", "", { path: "b.txt" }, "not_found", "b.txt does not exist."],
    ["offset 0", "a", { offset: 0 }, "invalid_input", "Invalid arguments for Read:\noffset: 0 is less than 1"],
    [
      "an unknown argument",
      "a",
      { file: "x" },
      "invalid_input",
      "Invalid arguments for Read:\nfile: is not allowed here",
    ],
  ])("Read rejects %s", async (_, content, args, code, message) => {
    expect(JSON.parse(await read(content, args))).toEqual({ error: { code, message } })
  })

  test("Read shows invalid UTF-8 as U+FFFD, on its line only", async () => {
    expect(await read(Uint8Array.of(0x61, 0xc3, 0x0a, 0xc3, 0xa9))).toBe("1\ta\ufffd\n2\té")
  })

  test("Read supports both UTF-16 encodings and Latin-1, also across ranges", { tags: ["TOOL-36"] }, async () => {
    for (const encoding of ["utf-16le", "utf-16be", "latin1"] as const) {
      const long = `${"ü".repeat(99)}\n`.repeat(3000)
      const bytes = encodeText({ text: `é one\r\n${long}end ö`, encoding }) as Uint8Array
      expect(await read(bytes, { limit: 1 })).toMatch(/^1\té one\n\[more/)
      expect(await read(bytes, { offset: 3001, limit: 5 })).toBe(`3001\t${"ü".repeat(99)}\n3002\tend ö`)
    }
  })

  test("Read reads a huge file by ranges and stops when it has enough", async () => {
    const huge = new Uint8Array(20 * 1024 * 1024).fill(0x78)
    for (let index = 99; index < huge.length; index += 100) huge[index] = 0x0a
    const ranges: { offset: number; limit: number }[] = []
    const text = await read(huge, { offset: 5001, limit: 1 }, { ranges })
    expect(text).toMatch(/^5001\tx{99}\n\[more lines/)
    expect(ranges.map(({ offset }) => offset)).toEqual([0, 262_144])
  })

  test("Read joins a line and a character that span two ranges", async () => {
    const start = "x".repeat(1000)
    const lines = `${start}\n`.repeat(261) + "y".repeat(262_143 - 261 * 1001)
    const text = await read(`${lines}é\nlast`, { offset: 262, limit: 2 })
    expect(text).toMatch(/^262\ty+é\n263\tlast$/)
  })

  test("Read stops when the run is stopped", async () => {
    const controller = new AbortController()
    const ranges: { offset: number; limit: number }[] = []
    const pending = read(
      new Uint8Array(5 * 1024 * 1024).fill(0x78),
      { offset: 2 },
      { signal: controller.signal, ranges },
    )
    controller.abort()
    expect(JSON.parse(await pending).error.code).toBe("aborted")
    expect(ranges.length).toBeLessThan(3)
  })
})
