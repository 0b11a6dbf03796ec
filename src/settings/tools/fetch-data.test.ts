import { describe, expect, test } from "vitest"
import type { Json } from "../../contract/json.ts"
import { wellFormed } from "../../tools/kernel/content-parts.ts"
import { createDispatcher } from "../../tools/kernel/dispatch.ts"
import { createToolContext } from "../../tools/kernel/tool-context.ts"
import { type FetchContext, fetchData } from "./fetch-data.ts"

const context = createToolContext({ callId: "2.0" })

/** The parts of the answer to one call about a stored text. */
async function fetched(text: string, args: Json = {}): Promise<readonly string[]> {
  const results = { find: async (ref: string) => (ref === "1.0" ? { text, isPart: false } : undefined) }
  const given: FetchContext = { ...context, results }
  const call = { name: "FetchData", args: { ref: "1.0", ...Object(args) } }
  const { output } = await createDispatcher([fetchData]).dispatch(call, given)
  return output.map((part) => (part.type === "text" ? part.text : part.type))
}

async function failure(text: string, args: Json): Promise<{ code: string; message: string }> {
  const [only = ""] = await fetched(text, args)
  return JSON.parse(only).error
}

/** Every page of a text, by following the notes. */
async function pagesOf(text: string, limit?: number): Promise<readonly string[]> {
  const pages: string[] = []
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const [page = "", note = ""] = await fetched(text, { offset, ...(limit && { limit }) })
    pages.push(page)
    const next: string | undefined = /Call FetchData with (\{.*\}) for/.exec(note)?.[1]
    offset = next === undefined ? undefined : JSON.parse(next).offset
  }
  return pages
}

const isWellFormed = (text: string) => wellFormed(text) === text

describe("FetchData", () => {
  test("a result that fits is returned unchanged and without a note", { tags: ["OFF-08"] }, async () => {
    for (const text of ["x".repeat(100_000), "é".repeat(100_000), '{"a": 1}', ""]) {
      expect(await fetched(text)).toEqual([text])
    }
  })

  test.each([
    ["plain", "0123456789".repeat(50_000)],
    ["wide", "潮".repeat(200_000)],
    ["in surrogate pairs", "😀".repeat(150_000)],
    ["one unit off", `a${"😀".repeat(150_000)}`],
  ])(
    "a longer result that is %s is returned in pages that are together the whole",
    { tags: ["OFF-08"] },
    async (_, text) => {
      const pages = await pagesOf(text)
      expect(pages.length).toBeGreaterThan(1)
      expect(pages.join("") === text).toBe(true)
      expect(pages.every((page) => isWellFormed(page))).toBe(true)
    },
  )

  test("small pages never split a character and always move on", async () => {
    const text = "a😀b😀😀c"
    for (const limit of [1, 2, 3]) {
      const pages = await pagesOf(text, limit)
      expect(pages.join("")).toBe(text)
      expect(pages.every((page) => isWellFormed(page) && page !== "")).toBe(true)
    }
  })

  test("a page states its place, and the last one that it is the end", async () => {
    expect(await fetched("abcdefghij", { offset: 2, limit: 3 })).toEqual([
      "cde",
      '[Characters 2 to 4 of 10. Call FetchData with {"ref":"1.0","offset":5} for the next part.]',
    ])
    expect(await fetched("abcdefghij", { offset: 7 })).toEqual(["hij", "[Characters 7 to 9 of 10. This is the end.]"])
    expect(await failure("abc", { offset: 3 })).toEqual({
      code: "invalid_input",
      message: "There is nothing at offset 3: the text has 3 characters.",
    })
  })

  const document = JSON.stringify({
    items: [{ name: "first" }, { name: "second" }],
    "a/b": 1,
    "m~n": 2,
    "": 3,
    " ": 4,
    "~1": 5,
    nested: { deep: null },
  })

  test.each([
    ["", document],
    ["/items/1/name", "second"],
    ["/items/0", '{"name":"first"}'],
    ["/a~1b", "1"],
    ["/m~0n", "2"],
    ["/", "3"],
    ["/ ", "4"],
    ["/~01", "5"],
    ["/nested/deep", "null"],
  ])("the JSON pointer %j selects a part, as in RFC 6901", async (pointer, expected) => {
    expect(await fetched(document, { pointer })).toEqual([expected])
  })

  test.each([
    ["/items/2", "not_found", "Nothing is at /items/2: /items is an array of 2."],
    ["/items/-", "not_found", "Nothing is at /items/-: /items is an array of 2."],
    ["/items/01", "not_found", "Nothing is at /items/01: /items is an array of 2."],
    ["/items/length", "not_found", "Nothing is at /items/length: /items is an array of 2."],
    ["/nested/__proto__", "not_found", 'Nothing is at /nested/__proto__: /nested has the keys "deep".'],
    ["/a~1b/c", "not_found", "Nothing is at /a~1b/c: /a~1b is a number."],
    ["items", "invalid_input", '"items" is not a JSON pointer. Write it as "/items/0/name".'],
    ["/~2", "invalid_input", '"/~2" is not a JSON pointer. Write it as "/items/0/name".'],
  ])("the JSON pointer %j selects nothing, and the model learns why", async (pointer, code, message) => {
    expect(await failure(document, { pointer })).toEqual({ code, message })
  })

  test("a pointer into a text that is not JSON, or into nesting that cannot be written, is an error of its own", async () => {
    expect(await failure("plain", { pointer: "/a" })).toMatchObject({ code: "invalid_input" })
    const deep = "[".repeat(10_000) + "]".repeat(10_000)
    expect((await fetched(deep, { pointer: "/0" })).join("").length).toBeGreaterThan(50)
    const deepest = "[".repeat(40_000) + "]".repeat(40_000)
    const [written = ""] = await fetched(deepest, { pointer: "/0" })
    expect(written === deepest.slice(1, -1) || written.includes("nested too deeply")).toBe(true)
    expect(await fetched(deepest, { limit: 4 })).toHaveLength(2)
  })

  test("a long value at a pointer is paged with the pointer", async () => {
    const [page = "", note = ""] = await fetched(JSON.stringify({ a: "x".repeat(150_000) }), { pointer: "/a" })
    expect(page).toMatch(/^x+$/)
    expect(note).toContain(`{"ref":"1.0","pointer":"/a","offset":${page.length}}`)
  })

  test("find returns the places of a plain text with their offsets", async () => {
    const text = `${"-".repeat(200)}needle\n  here${"-".repeat(200)}needle${"-".repeat(200)}`
    const [found = "", note] = await fetched(text, { find: "needle" })
    const lines = found.split("\n")
    expect(lines.map((line) => Number(/^offset (\d+): /.exec(line)?.[1]))).toEqual([200, 413])
    expect(lines[0]).toContain("--needle here--")
    expect(note).toBe("[There are no more matches.]")
    expect(await fetched(text, { find: "needle", limit: 1 })).toEqual([
      lines[0],
      "[There are more matches: search from offset 413.]",
    ])
    expect(await fetched(text, { find: "needle", offset: 201 })).toEqual([lines[1], "[There are no more matches.]"])
    expect(await fetched(text, { find: "absent" })).toEqual([
      `[The ${text.length} characters do not contain "absent".]`,
    ])
  })

  test("find takes a regular expression as plain text, and excerpts never split a character", async () => {
    expect(await fetched("(a+)+$ and aaaa", { find: "(a+)+$" })).toEqual([
      "offset 0: (a+)+$ and aaaa",
      "[There are no more matches.]",
    ])
    for (const before of [79, 80, 81]) {
      const [found = ""] = await fetched(`${"😀".repeat(100)}${"x".repeat(before)}!${"😀".repeat(100)}`, { find: "!" })
      expect(isWellFormed(found)).toBe(true)
    }
  })

  test("the most matches of the longest text fit in a result", async () => {
    const [found = "", note] = await fetched("潮".repeat(200_000), { find: "潮".repeat(200), limit: 1_000_000 })
    expect(found.split("\n")).toHaveLength(200)
    expect(note).toMatch(/^\[There are more matches/)
  })

  test.each([
    [{ offset: -1 }, "offset must be 0 or more."],
    [{ limit: 0 }, "limit must be 1 or more."],
    [{ find: "" }, "find is empty. Pass the text to search for."],
    [{ find: "x".repeat(201) }, "find is longer than 200 characters."],
    [{ pointer: "/".repeat(2001) }, "pointer is longer than 2000 characters."],
  ])("the arguments %j are refused", async (args, message) => {
    expect(await failure("text", args)).toEqual({ code: "invalid_input", message })
  })

  test("an unknown ref, and a call without a runtime, find nothing", async () => {
    expect(await failure("text", { ref: "9.9" })).toMatchObject({ code: "not_found" })
    expect(await failure("text", { ref: "9".repeat(10_000) })).toMatchObject({ code: "not_found" })
    const { status } = await createDispatcher([fetchData]).dispatch(
      { name: "FetchData", args: { ref: "1.0" } },
      context,
    )
    expect(status).toBe("error")
  })
})
