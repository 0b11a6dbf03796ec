import { expect, test } from "vitest"
import { promises } from "./promises.ts"
import { ownCharacters, tagsIn, titlesIn, titlesOf } from "./support/test-titles.ts"

/** The number of promises in the list. */
const OWED = 372

const ids: ReadonlySet<string> = new Set(promises.map(({ id }) => id))
const isNamed = (test: string) => (title: string) => title.includes(test)
const proven = promises.filter(({ proof }) => proof !== undefined)

test("every promise is listed once, under a valid id, in a few words", () => {
  expect(promises).toHaveLength(OWED)
  expect(ids.size).toBe(OWED)
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
    proof
      .filter(([file, test]) => !(ids.has(test) ? tagsIn(file).includes(test) : titlesIn(file).some(isNamed(test))))
      .map((each) => [id, ...each]),
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
    test.each<[string, (message: string) => boolean]>([["a", () => true]])("%s has types", () => {})
    describe.concurrent("at once", () => {})
    test.runIf(process.platform === "linux").each([1])("%i on Linux", () => {})
    test.skip("it is skipped", () => {})
    test.todo("it is to come")
    // test("it is a comment", () => {})
    expect("not a title").toBe("not a title")
  `
  const each = ["it holds", "it holds for %i", "%s is kept", "a template", "%s has types", "at once", "%i on Linux"]
  expect(titlesOf(source)).toEqual(each)
})

test.each([
  ["a call is kept", "call is", 7],
  ["a call is kept", "call was", -1],
  ["a call with %s is kept by $name", "with an effect is kept by us", 17],
  ["a call with %s is kept", "an effect", 0],
  ["%s", "any text", 0],
])("the characters that the title %s has of %s are counted", (title, part, count) => {
  expect(ownCharacters(title, part)).toBe(count)
})
