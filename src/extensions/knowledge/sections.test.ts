import { describe, expect, test } from "vitest"
import { type Section, splitSections } from "./sections.ts"

const markdown = (text: string) => splitSections({ text, kind: "markdown" })
const slugs = (sections: readonly Section[]) => sections.map(({ slug }) => slug)

describe("Markdown is split at its headings", { tags: ["KB-02"] }, () => {
  test("Markdown is split at headings of both kinds, with what comes before the first one", () => {
    const sections = markdown("Before.\n\n# One #\n\ntext\n\nTwo\n---\n\nmore\n\n### *Three* [here](x.md)\n")
    expect(sections.map(({ slug, title, trail, text }) => [slug, title, trail, text])).toEqual([
      ["", "", [], "Before."],
      ["one", "One", [], "text"],
      ["two", "Two", ["One"], "more"],
      ["three-here", "Three here", ["One", "Two"], ""],
    ])
  })

  test("Markdown is not split inside code fences, front matter, lists or tables", () => {
    const text = [
      "---\ntitle: x\n# comment\n---\n",
      "```sh\n# a\n~~~\n```\n~~~~\n# b\n~~~\n# c\n~~~~\n  ```\n  # d\n  ```\n",
      "- item\n---\n\n| a | b |\n---\n\n    # indented\n\n#tag\n",
      "# Real\n```\n# never closed\n",
    ].join("\n")
    expect(slugs(markdown(text))).toEqual(["", "real"])
  })

  test("Markdown is split after code in a line that begins with three marks", () => {
    expect(slugs(markdown("```a``` is code.\n\n# Real\n\n~~~a~~~ is none.\n# Inside\n"))).toEqual(["", "real"])
  })

  test("repeated headings are numbered, also if one is named like a number", () => {
    expect(slugs(markdown("# A\n# A\n# A-2\n# A\n# ?\n# !\n"))).toEqual([
      "a",
      "a-2",
      "a-2-2",
      "a-3",
      "section",
      "section-2",
    ])
  })

  test("a section ends where the next one of its level starts", () => {
    const text = "# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne"
    const ends = markdown(text).map(({ slug, start, end }) => [slug, text.slice(start, end)])
    expect(Object.fromEntries(ends)).toEqual({
      a: "# A\na\n## B\nb\n### C\nc\n## D\nd\n",
      b: "## B\nb\n### C\nc\n",
      c: "### C\nc\n",
      d: "## D\nd\n",
      e: "# E\ne",
    })
  })

  test("wiki links are kept as neighbours, once each", () => {
    const [section] = markdown("# A\n[[Other page]] [[b#Part|alias]] [[Other page]] [[]] [no](link)")
    expect(section?.links).toEqual(["Other page", "b#Part"])
  })

  test("a document of hostile lines takes linear time", () => {
    for (const line of ["[[", "[", "#", "`", "# ", "- ", "\n---", "[[a|", "]]"]) {
      expect(markdown(`${line.repeat(200_000)} \``).length).toBeGreaterThanOrEqual(1)
    }
  })
})

describe("other texts are split into parts of whole lines", () => {
  test("a short one is a single section, without a name", () => {
    expect(slugs(splitSections({ text: "a\nb\n", kind: "lines" }))).toEqual([""])
  })

  test("the parts of a table have its first line", () => {
    const rows = Array.from({ length: 1000 }, (_, index) => `${index},some words\n`)
    const text = `id,text\n${rows.join("")}`
    const parts = splitSections({ text, kind: "table" })
    expect(slugs(parts).slice(0, 3)).toEqual(["part-1", "part-2", "part-3"])
    expect(parts.every((part) => part.text.startsWith("id,text\n") && part.text.endsWith("\n"))).toBe(true)
    expect(parts.map(({ start, end }) => text.slice(start, end)).join("")).toBe(text)
  })

  test("a line without an end is split, too", () => {
    const parts = splitSections({ text: "x".repeat(100_000), kind: "lines" })
    expect(parts.length).toBeGreaterThan(10)
  })
})
