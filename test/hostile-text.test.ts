import { afterAll, describe, expect, test } from "vitest"
import { visible } from "../src/cli/format.ts"
import { carriedSentences } from "../src/lib/compaction/carried.ts"
import { loadEntityDecoder } from "../src/lib/html/html-entities.ts"
import { htmlToText } from "../src/lib/html/html-to-text.ts"
import { isPrivateHost } from "../src/lib/http/target-host.ts"
import { isOverflow } from "../src/lib/overflow-texts.ts"
import { isOurs } from "../src/lib/own-names.ts"
import { parsePatch } from "../src/lib/patch/parse-patch.ts"
import { parseRetryAfter } from "../src/lib/retry.ts"
import { SseCutter } from "../src/providers/sse.ts"
import { findJson } from "../src/settings/options/find-json.ts"
import { readListing } from "../src/stores/s3/xml.ts"
import { closestLines } from "../src/tools/edit/closest-lines.ts"
import { readNotebook } from "../src/tools/edit/notebook.ts"
import { compileGlob } from "../src/tools/find/glob.ts"
import { parseIgnoreFile } from "../src/tools/find/ignore-rules.ts"

/** Text controlled by a model, a tool, a file or a server: each parser with growing, hostile inputs. */
type Attack = readonly [name: string, input: (size: number) => string, read: (text: string) => unknown]

const fill = (piece: string, size: number) => piece.repeat(Math.ceil(size / piece.length))
const around =
  (before: string, piece: string, after = "") =>
  (size: number) =>
    `${before}${fill(piece, size)}${after}`
/** A rejection is a valid outcome. */
const tried = (read: (text: string) => unknown) => (text: string) => {
  try {
    return read(text)
  } catch (error) {
    return error
  }
}
const cut = (text: string) => {
  const cutter = new SseCutter({ event: () => {} })
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += 1000) cutter.push(bytes.subarray(at, at + 1000))
  cutter.end()
}
const decode = await loadEntityDecoder()
const readPage = (text: string) => htmlToText(text, decode)
/** As many globs as make up the text, since a long one is rejected. */
const inGlobs = (read: (glob: string) => unknown) => (text: string) => {
  for (let at = 0; at < text.length; at += 1000) tried(read)(text.slice(at, at + 1000))
}
const notebook = (source: string) =>
  JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: [{ cell_type: "code", source, metadata: {}, outputs: [], execution_count: null }],
  })

const carried = (text: string) =>
  carriedSentences(text, [{ role: "assistant", content: [{ type: "text", text }] }], "", 1_000)

const attacks: readonly Attack[] = [
  ["summary: words that are almost a name", around("", "a-"), carried],
  ["summary: letters without a digit", around("", "abcdefgh"), carried],
  ["summary: folders of a path that does not end", around("", "a/"), carried],
  ["summary: dots of a path", around("", "./."), carried],
  ["summary: names, each known", around("", "ab-1000 "), carried],
  ["answer: an open fence and blank lines", around("```", "\n"), findJson],
  ["answer: fences that do not close", around("", "```json\n{\n"), findJson],
  ["answer: fences and spaces", around("```", " \n"), findJson],
  ["answer: open brackets", around("", "["), findJson],
  ["answer: open braces with names", around("", '{"a":'), findJson],
  [
    "answer: brackets that close, too deep to be kept",
    (size) => `x${fill("[", size / 10)}${fill("]", size / 10)}`,
    findJson,
  ],
  [
    "patch: an anchor of spaces",
    around("*** Begin Patch\n*** Update File: a\n@@ ", " ", "x\n+a\n*** End Patch"),
    tried(parsePatch),
  ],
  [
    "patch: anchors",
    around("*** Begin Patch\n*** Update File: a\n", "@@ @@\n", "+a\n*** End Patch"),
    tried(parsePatch),
  ],
  ["patch: a header of digits", around("--- a\n+++ a\n@@ -", "1", " @@\n+a"), tried(parsePatch)],
  [
    "patch: a name of dates",
    around("--- a\t", "2020-01-01 00:00:00.", "\n+++ a\n@@ -1 +1 @@\n-a\n+b"),
    tried(parsePatch),
  ],
  ["patch: a quoted name that does not end", around('diff --git "', "\\\\", "\n"), tried(parsePatch)],
  ["patch: a here-document without its end", around("cat <<", " ", "\n"), tried(parsePatch)],
  ["patch: fences", around("", "```\n"), tried(parsePatch)],
  ["edit: a text that is nowhere", around("", "aaaa\n"), (text) => closestLines(text, fill("aaab\n", 2000), String)],
  ["page: open tags", around("", "<a "), readPage],
  ["page: attributes without an end", around("<a", ' b="c'), readPage],
  ["page: quotes by turns", around("<a", " b='\" c=\"'"), readPage],
  ["page: comments without an end", around("", "<!--"), readPage],
  ["page: raw elements without an end", around("", "<svg><title>"), readPage],
  ["page: nested lists", around("", "<ul><li>"), readPage],
  ["page: nested tables", around("", "<table><tr><td>"), readPage],
  ["page: references", around("", "&amp"), readPage],
  ["page: a reference without an end", around("&", "a"), readPage],
  ["page: a number without an end", around("&#x", "f"), readPage],
  ["page: references that are nearly names", around("", "&CounterClockwiseContourIntegra"), readPage],
  ["page: references in an attribute", around('<a href="', "&ampx&#1"), readPage],
  ["page: white space", around("", " \n\t"), readPage],
  ["glob: open lists", around("", "["), inGlobs(compileGlob)],
  ["glob: lists that end behind a slash", around("", "[/", "]"), inGlobs(compileGlob)],
  ["glob: open braces", around("", "{a,"), inGlobs(compileGlob)],
  ["glob: braces by turns", around("", "{a,b}"), inGlobs(compileGlob)],
  ["glob: a long one", around("", "*a"), tried(compileGlob)],
  ["glob: stars against a long name", around("", "a"), (text) => compileGlob("*a*a*a*a*a*a*a*a*b")(`${text}b/`)],
  [
    "glob: stars for folders against a long path",
    around("", "a/"),
    (text) => compileGlob("**/a/**a/*a/**b*/c")(`${text}c`),
  ],
  ["ignore file: lines of stars", around("", "*a*a*a*a*b\n"), parseIgnoreFile],
  ["ignore file: lines of open lists", around("", `${fill("[", 500)}\n`), parseIgnoreFile],
  ["ignore file: lines of braces", around("", `${fill("{a,b}", 35)}\n`), parseIgnoreFile],
  [
    "ignore file: stars against a long path",
    around("", "a/"),
    (text) => parseIgnoreFile("**/*a*/**/*b*/x\n*a*a*a*c").says(`${text}x`, false),
  ],
  ["notebook: a line without an end", (size) => notebook(fill("x", size)), tried((text) => readNotebook(text, "n"))],
  ["notebook: white space", around("", " \n"), tried((text) => readNotebook(text, "n"))],
  ["stream: a line without an end", around("data: ", "x"), cut],
  ["stream: data lines of one event", around("", "data: x\n"), cut],
  ["stream: comments", around("", ": ping\n\n"), cut],
  ["refusal: words of an overflow", around("", "exceeds the maximum "), isOverflow],
  ["refusal: a time to wait", around("", "1"), parseRetryAfter],
  ["listing: keys without an end", around("<ListBucketResult>", "<Contents><Key>"), readListing],
  ["listing: spaces behind its end", around("<ListBucketResult></ListBucketResult>", " ", "x"), readListing],
  ["host: dots", around("http://a", ".", "b/"), tried((text) => isPrivateHost(new URL(text)))],
  ["name: marks that are not seen", around("", "\u200b"), isOurs],
  ["terminal: controls", around("", "\u001b[\u202e"), visible],
]

/** Linear: 4 from one size to the next but one. Quadratic: 16. */
const WORST_GROWTH = 12
const isMeasured = process.env.LONGHAUL_GROWTH !== undefined
const SIZE = isMeasured ? 200_000 : 100_000

describe("hostile text", () => {
  test.each(attacks)("%s: four times the text takes about four times the work", (name, input, read) => {
    const texts = [SIZE, 2 * SIZE, 4 * SIZE].map((size) => input(size))
    // The last one would take minutes if the work were quadratic.
    if (!isMeasured) return void read(texts.at(-1) ?? "")
    read(texts[0] ?? "")
    const times = texts.map((text) => Math.min(...Array.from({ length: 3 }, () => cpuTime(() => read(text)))))
    const [first = 1, , last = 1] = times
    const growth = last / Math.max(first, 1)
    growths.push([name, growth, last])
    // Below a few milliseconds the clock resolution dominates.
    if (last > 20) expect(growth).toBeLessThan(WORST_GROWTH)
  })
})

const growths: [string, number, number][] = []
afterAll(() => {
  if (!isMeasured) return
  const [worst, growth] = growths.toSorted((left, right) => right[1] - left[1])[0] ?? ["", 0]
  console.log(`${growths.length} hostile texts, each doubled twice: worst growth ${growth.toFixed(1)} of 4 (${worst})`)
})

function cpuTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
