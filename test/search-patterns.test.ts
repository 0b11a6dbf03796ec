import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rgPath } from "@vscode/ripgrep"
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { toRustPattern } from "../src/hosts/node/search/to-rust-pattern.ts"
import { compileLinearPattern } from "../src/lib/linear-pattern.ts"

const folder = mkdtempSync(join(tmpdir(), "longhaul-patterns-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** One line each, without its line break. The second half is invalid UTF-8. */
const characters = [
  "a",
  "b",
  "B",
  "_",
  "7",
  " ",
  "\t",
  "\r",
  "é",
  "É",
  "ß",
  "ſ",
  "K",
  "İ",
  "中",
  "\u2028",
  "\u00a0",
  "😀",
  "\ufeff",
]
const bytes = [
  [0xe9],
  [0xff],
  [0xe2, 0x82],
  [0xf0, 0x9f, 0x98],
  [0xc3],
  [0x80],
  [0xed, 0xa0, 0x80],
  [0x61],
  [0x20],
  [0xc3, 0xa9],
]
const lines: Uint8Array[] = []

beforeAll(() => {
  const pick = <Item>(items: readonly Item[]) => fc.array(fc.constantFrom(...items), { maxLength: 5 })
  for (const text of fc.sample(pick(characters), { numRuns: 120, seed: 3 })) lines.push(Buffer.from(text.join("")))
  for (const parts of fc.sample(pick(bytes), { numRuns: 60, seed: 4 })) lines.push(Uint8Array.from(parts.flat()))
  for (const [index, line] of lines.entries())
    writeFileSync(join(folder, `${index}`), Buffer.concat([line, Buffer.from("\n")]))
})

/** All of them if there is no pattern for ripgrep. */
function foundByRipgrep(pattern: string | undefined): ReadonlySet<number> {
  if (pattern === undefined) return new Set(lines.keys())
  const args = ["--no-config", "--files-with-matches", "--no-messages", `--regexp=${pattern}`, "--", "."]
  const { stdout, status } = spawnSync(rgPath, args, { cwd: folder, encoding: "utf8", env: {} })
  expect(status, pattern).toBeLessThan(2)
  return new Set(stdout.split("\n").flatMap((path) => (path === "" ? [] : [Number(path.slice(2))])))
}

/** As Grep reads a line. */
function asGrepSees(line: Uint8Array): string {
  return new TextDecoder().decode(line).replace(/\r$/, "")
}

const leaf = fc.oneof(
  fc.constantFrom(
    "a",
    "B",
    "é",
    "ß",
    "ſ",
    "K",
    "İ",
    "中",
    "😀",
    "\\x{2028}",
    "\\x{feff}",
    "\\t",
    "\\r",
    "\\x61",
    "\\141",
    "[a-c]",
    "[ßſ]",
    "[\\x{2028}-\\x{2029}\\x80-\\x{ff}]",
    "[]a]",
    "[[&&~~7]",
    "[*--]",
    "[\\-a-]",
    "[\\d_é]",
    "[[:alpha:]]",
    "[[:digit:]_]",
    "{",
    "a{,2}",
    "(?i)b",
    "(?i:k|s)",
    "(É)",
    "(?-i:B)",
    "(?U)a+",
  ),
  fc.constantFrom("\\w", "\\d", "\\s", "\\b", "\\B", "^", "$", "\\A", "\\z"),
)
const wide = fc.constantFrom(
  ...[".", "\\W", "\\S", "\\D", "(?s:.)", "[^a]", "[^é\\s]", "\\x{fffd}", "[\\x{fff0}-\\x{ffff}]", "[\\Wa]"],
  ...["\\p{Lu}", "\\pL", "\\P{^Lu}", "[\\p{Greek}a]", "[[:^alpha:]]", "[[:space:]]", "\\Qa.\\E"],
)

function patterns(leaves: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { node } = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaves,
      fc.tuple(tie("node"), tie("node")).map((pair) => pair.join("")),
      fc.tuple(tie("node"), tie("node")).map(([left, right]) => `(?:${left}|${right})`),
      fc
        .tuple(tie("node"), fc.constantFrom("*", "+", "?", "{2}", "{1,2}", "*?", "{0,}"))
        .map(([inner, many]) => `(?:${inner})${many}`),
    ),
  }))
  return node
}

test("ripgrep's pattern matches wherever ours does", { tags: ["TOOL-12"] }, async () => {
  const property = fc.asyncProperty(patterns(fc.oneof(leaf, wide)), fc.boolean(), async (source, ignoreCase) => {
    const found = foundByRipgrep(toRustPattern(source, { ignoreCase }))
    const pattern = await compileLinearPattern(source, { ignoreCase })
    const missed = lines.flatMap((line, index) => (pattern.test(asGrepSees(line)) && !found.has(index) ? [index] : []))
    expect(missed.map((index) => JSON.stringify(asGrepSees(lines[index] ?? Uint8Array.of())))).toEqual([])
  })
  await fc.assert(property, { numRuns: 250, seed: 1 })
})

test("ripgrep's pattern rarely matches more: only for invalid UTF-8 or unusual line endings", async () => {
  const property = fc.asyncProperty(patterns(leaf), fc.boolean(), async (source, ignoreCase) => {
    const found = foundByRipgrep(toRustPattern(source, { ignoreCase }))
    const pattern = await compileLinearPattern(source, { ignoreCase })
    for (const [index, line] of lines.slice(0, 120).entries()) {
      const text = Buffer.from(line).toString()
      // ripgrep removes a byte order mark, and treats every carriage return as a line ending.
      if (/\r|^\ufeff/.test(text) || source.includes("\\B")) continue
      expect([JSON.stringify(text), found.has(index)]).toEqual([JSON.stringify(text), pattern.test(text)])
    }
  })
  await fc.assert(property, { numRuns: 150, seed: 2 })
})
