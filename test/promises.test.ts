import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { promises } from "./promises.ts"

/** The number of promises in the list. */
const OWED = 372

const repository = new URL("..", import.meta.url)
const proven = promises.filter(({ proof }) => proof !== undefined)

test("every promise is listed once, under a valid id, in a few words", () => {
  expect(promises).toHaveLength(OWED)
  expect(new Set(promises.map(({ id }) => id)).size).toBe(OWED)
  for (const { id, text, proof } of promises) {
    expect(id).toMatch(/^[A-Z]{2,4}-\d{2}$/)
    expect(text.length, id).toBeGreaterThan(0)
    expect(text.length, id).toBeLessThanOrEqual(100)
    if (proof) expect(proof.length, id).toBeGreaterThan(0)
  }
  console.log(`promises: ${OWED} owed, ${proven.length} proven`)
})

test("every claimed promise has a test that proves it", () => {
  const missing = proven.flatMap(({ id, proof = [] }) =>
    proof.filter(([file, name]) => !titlesIn(file).some((title) => title.includes(name))).map((each) => [id, ...each]),
  )
  expect(missing).toEqual([])
})

test("a missing proof is detected, and so is a skipped one", () => {
  expect(titlesIn("test/no-such.test.ts")).toEqual([])
  const source = `
    test("it holds", () => {})
    test.each([1, 2])("it holds for %i", () => {})
    describe.each(Object.entries({ a: [") ("] }))('%s is kept', { timeout: 300_000 }, () => {})
    test(\`a template\`, () => {})
    test.skip("it is skipped", () => {})
    test.todo("it is to come")
    // test("it is a comment", () => {})
    expect("not a title").toBe("not a title")
  `
  expect(titlesOf(source)).toEqual(["it holds", "it holds for %i", "%s is kept", "a template"])
})

function titlesIn(file: string): string[] {
  const path = fileURLToPath(new URL(file, repository))
  return existsSync(path) ? titlesOf(readFileSync(path, "utf8")) : []
}

/** The titles of tests and groups that really run, as in the source. */
function titlesOf(source: string): string[] {
  const titles: string[] = []
  for (const match of source.matchAll(/^[ \t]*(?:else )?(?:test|it|describe)(\.each)?(?=[(<])/gm)) {
    let at = match.index + match[0].length
    if (match[1] !== undefined) at = afterBrackets(source, at)
    const title = /^\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/.exec(source.slice(at))?.[2]
    if (title !== undefined) titles.push(title.replaceAll(/\\(.)/g, "$1"))
  }
  return titles
}

/** After the type arguments and the table of `test.each`, whatever texts they contain. */
function afterBrackets(source: string, from: number): number {
  let depth = 0
  let quote = ""
  for (let at = source.indexOf("(", from); at < source.length; at++) {
    const character = source.charAt(at)
    if (quote !== "") {
      if (character === "\\") at++
      else if (character === quote) quote = ""
    } else if (/["'`]/.test(character)) quote = character
    else if (character === "(") depth++
    else if (character === ")" && --depth === 0) return at + 1
  }
  return source.length
}
