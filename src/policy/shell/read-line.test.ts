import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import type { CommandLine, Word } from "./command-line.ts"
import { readCommandLine } from "./read-line.ts"

// A line, ` ⇒ `, and what it runs. ␤ is a newline, ⟨…⟩ a computed word, … an open end, (X) a variable that is set.
const table = readFileSync(new URL("./__fixtures__/lines.txt", import.meta.url), "utf8")

for (const section of table.trimEnd().split(/^## /m).slice(1)) {
  const [title = "", ...rows] = section.trimEnd().split("\n")
  describe(title, () => {
    test.each(rows.map((row) => row.split("   ⇒   ")))("%s ⇒ %s", (line = "", expected) => {
      expect(shown(readCommandLine(line.replaceAll("␤", "\n")))).toBe(expected)
    })
  })
}

test.each([
  "\0",
  "\b",
  "\r",
  "\v",
  "\x1b",
  "\x7f",
  "\u0085",
  "\u00a0",
  "\u1680",
  "\u2003",
  "\u200b",
  "\u200e",
  "\u2028",
  "\u202e",
  "\u202f",
  "\u205f",
  "\u2066",
  "\u3000",
  "\ufeff",
  "\ud800",
])("a line with the character %j is unreadable", (character) => {
  for (const line of [`ls${character}rm`, `ls '${character}'`, `${character}ls`]) {
    expect(readCommandLine(line)).toMatchObject({ isReadable: false, reason: expect.stringContaining("character U+") })
  }
})

test("every one of 60 chained commands is listed, and 201 are too many", () => {
  const chain = (count: number) => Array.from({ length: count }, (_, index) => `npm run task${index}`).join(" && ")
  const reading = readCommandLine(chain(60))
  const names = reading.isReadable ? reading.commands.map(({ words }) => words.at(-1)?.text) : []
  expect(names).toEqual(Array.from({ length: 60 }, (_, index) => `task${index}`))
  expect(readCommandLine(chain(200)).isReadable).toBe(true)
  expect(readCommandLine(chain(201))).toEqual({ isReadable: false, reason: "it has more than 200 commands" })
})

test("a line that is nested or long beyond the limits is unreadable", () => {
  const nested = (depth: number) => `${"$(echo ".repeat(depth)}x${")".repeat(depth)}`
  expect(readCommandLine(`echo ${nested(30)}`).isReadable).toBe(true)
  const lines = [
    `echo ${nested(41)}`,
    `echo ${nested(3000)}`,
    `${"(".repeat(5000)}rm${")".repeat(5000)}`,
    `${"{ ".repeat(60)}rm${"; }".repeat(60)}`,
    `echo ${"x".repeat(16 * 1024)}`,
    Array.from({ length: 6 }).reduce<string>((text) => `sh -c '${text.replaceAll("'", "'\\''")}'`, "rm x"),
  ]
  for (const line of lines) expect(readCommandLine(line), line.slice(0, 40)).toMatchObject({ isReadable: false })
})

function shown(reading: CommandLine): string {
  if (!reading.isReadable) return `unreadable: ${reading.reason}`
  const parts = [
    ...reading.commands.map(({ words, isOpen, variables }) => {
      const set = variables.length > 0 ? `(${variables.join(",")}) ` : ""
      return set + words.map(shownWord).join(" ") + (isOpen ? " …" : "")
    }),
    ...reading.redirects.map(({ access, target }) => `${access} ${shownWord(target)}`),
    ...(reading.changesFolder ? ["changes folder"] : []),
  ]
  return parts.join(" ; ").replaceAll("\n", "␤") || "nothing"
}

function shownWord({ text, isFixed }: Word): string {
  if (!isFixed) return `⟨${text}⟩`
  return /^[^\s"'<>⟨⟩;…]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`
}
