import { expect, test } from "vitest"
import { diffLines } from "./line-diff.ts"

const signs = { same: " ", added: "+", removed: "-" } as const
const shown = (before: string, after: string) =>
  diffLines(before.split(""), after.split("")).map((line) =>
    line.kind === "gap" ? `@${line.line}` : `${signs[line.kind]}${line.text}`,
  )

test("changed lines are removed and added between up to three unchanged lines on each side", () => {
  expect(shown("abcdefghi", "abcdXfghi")).toEqual(["@2", " b", " c", " d", "-e", "+X", " f", " g", " h"])
})

test("each distant change is preceded by the number of its first line", () => {
  const changed = [" a", "-X", " b", " c", " d", "@11", " k", " l", " Y", "+Z", " m"]
  expect(shown("aXbcdefghijklYm", "abcdefghijklYZm")).toEqual(changed)
})

test("a new text is all added, a deleted text all removed, and equal texts have no diff", () => {
  expect(shown("", "ab")).toEqual(["+a", "+b"])
  expect(shown("ab", "")).toEqual(["-a", "-b"])
  expect(shown("ab", "ab")).toEqual([])
})

test("applying the diff turns the first text into the second, for any texts", () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % below
  }
  for (let round = 0; round < 300; round++) {
    const text = () => Array.from({ length: random(12) }, () => "abc"[random(3)] ?? "")
    const [before, after] = [text(), text()]
    const lines = diffLines(before, after)
    const kept = (not: string) => lines.flatMap((line) => (line.kind === "gap" || line.kind === not ? [] : [line.text]))
    if (lines.some(({ kind }) => kind === "gap") || lines.length < Math.max(before.length, after.length)) continue
    expect(kept("added")).toEqual(before)
    expect(kept("removed")).toEqual(after)
  }
})

test("texts too long for a line diff are replaced as a whole", () => {
  const [before, after] = ["a", "b"].map((letter) => Array.from({ length: 5000 }, (_, line) => `${letter}${line}`))
  const lines = diffLines(before ?? [], after ?? [])
  expect(lines).toHaveLength(10_000)
  expect(lines.slice(0, 5000).every(({ kind }) => kind === "removed")).toBe(true)
})
