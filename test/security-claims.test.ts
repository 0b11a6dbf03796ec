import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { whyTooLarge } from "../src/lib/schema/argument-size.ts"

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8")
const security = read("SECURITY.md").replace(/\s+/g, " ")
const manifest = JSON.parse(read("package.json"))
const numbers = [
  "zero",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
]

test("SECURITY.md states the number of dependencies and that there are no install scripts, and is in the package", () => {
  const count = Object.keys(manifest.dependencies).length
  expect(security).toContain(`no install scripts and ${numbers[count]} dependencies`)
  expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([])
  expect(manifest.files).toContain("SECURITY.md")
})

test("SECURITY.md states the limits of arguments", () => {
  const [, members = "", characters = ""] =
    /more than ([\d,]+) keys and entries, or (\d+) Mi characters/.exec(security) ?? []
  const most = Number(members.replace(",", ""))
  expect(whyTooLarge(Array(most).fill(1))).toBeUndefined()
  expect(whyTooLarge(Array(most + 1).fill(1))).toBeDefined()
  expect(whyTooLarge("x".repeat(Number(characters) * 1024 * 1024))).toBeUndefined()
  expect(whyTooLarge("x".repeat(Number(characters) * 1024 * 1024 + 1))).toBeDefined()
})
